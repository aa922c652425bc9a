"""A small general model from end to end, on questions that it has not been trained for."""
