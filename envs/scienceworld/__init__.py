"""ScienceWorld: thirty kinds of science experiments in a text world, on the real simulator."""
