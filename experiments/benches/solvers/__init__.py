"""The solvers side by side on seeded walk problems: ``python -m experiments.benches.solvers``.

| file | what |
|---|---|
| `backends.py` | who competes, and on which instances |
| `cspy_backend.py` | the one competitor that is no solver of the project |
| `numpy_pass.py` | the yardstick: one plain backward pass in NumPy |
| `worker.py` | one (instance, backend) in a process of its own |
| `running.py` | all of them, resumable |
| `cold.py` | the first solve of a fresh process |
| `summary.py`, `targets.py` | ratios, agreement, and what must be reached |
| `report.py` | the table and the plot |
"""
