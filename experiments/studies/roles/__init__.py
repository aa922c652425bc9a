"""What models can do in each role of each environment, and the pages that show what they are sent."""
