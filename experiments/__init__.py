"""Scripts that train, measure and compare. They may import everything."""
