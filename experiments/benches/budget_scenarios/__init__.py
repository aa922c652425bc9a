"""Twelve situations in which budgets break, each under a framework's own limit and under a guard of TAPE.

``python -m experiments.benches.budget_scenarios`` plays all. The model is scripted: the mock server of the package
``agent-budget-semantics``, which nobody here wrote, speaks for it over loopback and keeps the list of what it was asked
and how many tokens that took. Tools are a service of this benchmark's own, which counts calls. What was spent is what
these two have counted, not what a framework or a guard says.

Every run is a process of its own: ``sides/NAME.py`` plays one framework.
"""
