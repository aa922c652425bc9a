"""Active epistemic control, and ALFWorld."""
