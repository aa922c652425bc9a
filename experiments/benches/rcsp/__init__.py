"""Resource-constrained shortest paths side by side: ``python -m experiments.benches.rcsp``.

| file | what |
|---|---|
| `competitors.py` | what a competitor is, and what all are given of an instance |
| `labellers.py`, `models.py` | the competitors: labelling algorithms, and general solvers with a model over arcs |
| `boost_search.cpp` | the Boost Graph Library's algorithm, as a function |
| `registry.py` | who competes on what |
| `generate.py`, `road.py`, `catalogue.py` | the instances: random, grids, layers; a road map; all, and files |
| `ours.py` | our side |
| `worker.py`, `running.py` | one pair in a process of its own; all of them, resumable |
| `summary.py`, `report.py`, `table.py` | ratios, agreement and targets; tables; the one in docs/results.md |
"""
