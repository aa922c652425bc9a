"""What finished runs show: error rates, bounds, certified trajectories, credit, re-validation, exports."""
