"""Questions that take several look-ups, over a local corpus and retrievers of rising price and quality."""
