"""Exact schedules: which variant of every step, and when, under budgets, a deadline and limits on calls at once.

`problem` says what is asked, `objective` which plan is best, `prices` bounds what is still to come, `labels` finds the
best variants where nothing limits the calls at once, `cp_sat` does where something does, `placing` gives the starts,
and `check` verifies every answer from the problem alone. `api` has `solvers.schedule`.
"""
