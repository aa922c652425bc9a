"""How tools and calls are written for models: ``chat`` for general ones."""
