"""Search agents with a bounded context (CGDP, arXiv 2605.07042).

To be read in this order: `view` (what prompts show), `settings`, `context` (the window), `search` (one search, which
every harness of `tape.agents` drives), `room`, `reading` (the update step) with `belief` and `curation`, `gates` and
`stopping`, `prices`, `worth` and `selection` (the solver chooses a search), `alignment` (grounded answers), `events`
and `gaps` (what a trace holds, and what it shows to be wrong). `prompts` has the two prompt formats.
"""
