"""How typed tools are written for models."""
