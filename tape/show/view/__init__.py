"""``tape view``: runs and traces as one HTML page that needs nothing else.

1. ``sources.py``: what was named on the command line: run directories, or single traces.
2. ``results.py``: the table of results, and the difference of two runs.
3. ``episode.py``: one episode for the page, made from its events: ``timeline.py`` (the timeline), ``graphs.py`` (plan
   graphs and what changed between two of them), ``geometry.py`` (their layout), ``spending.py`` (budgets step by step).
4. ``page.py``: puts the page together, as ``shell.py`` makes every page; so does the page of ``tape gateway``.
   ``templates/`` holds what the browser gets: markup, styles and scripts.

Python decides what is shown and writes every amount in human units; the scripts only draw. Every episode is a
compressed block of its own that the browser unpacks when the episode is opened, so that a run of hundreds of episodes
opens at once.
"""
