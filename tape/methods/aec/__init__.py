"""Active epistemic control: commit only on grounded evidence (AEC; SQ-BCP for the pullback check)."""
