"""Resource-constrained shortest paths on plain directed graphs: no horizon, nothing is expanded in time.

In reading order: `problem` (what is asked), `folded` (the same in whole numbers, as searches take it), `plain` (the
search where the compiled one, `solvers.compiled`, cannot run), `graphs` (graphs as users have them), `solving` (all of
that together, and paths counted again), `explaining` (which limit is short), `shortest` (the public functions),
`reading` (files).

Importing this package imports nothing else.
"""
