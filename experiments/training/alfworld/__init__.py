"""Training text, evaluation and card of the ALFWorld models."""
