"""The studies: what is compared, on what, and what came out. One folder a method or benchmark."""
