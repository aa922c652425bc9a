"""A simulated language model for ScienceWorld: gold paths with injected errors."""
