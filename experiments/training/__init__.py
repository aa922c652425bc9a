"""Training and evaluation of the bundled language models."""
