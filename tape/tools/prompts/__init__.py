"""How tools and calls are written for models: ``chat`` for general ones, ``compact`` for the bundled tool model."""
