"""One file a framework: how it is run in a scenario, without a limit, under its own, and under a guard."""
