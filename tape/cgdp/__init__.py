"""Search agents with a bounded context (CGDP, arXiv 2605.07042): belief states, gates, harnesses, gaps."""
