"""Training text, evaluation and card of the tool model."""
