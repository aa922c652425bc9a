"""Selectors that studies put in the solver's place, named by ``--ablation selector=module:Class``."""
