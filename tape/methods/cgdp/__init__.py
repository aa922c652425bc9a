"""Search agents with a bounded context (CGDP, arXiv 2605.07042).

Read them in this order: `view` (what prompts show), `settings`, `context` (the window), `search` (one search, which
every harness of `agents` drives), `reading` (the update step) with `belief` and `curation`, `gates`
and `stopping`, `prices` and `selection` (the solver chooses a search), `entailment` (grounded answers), `events`
(the trace). `prompts` says what a prompt format has to offer.
"""
