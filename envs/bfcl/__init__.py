"""BFCL multi-turn: tools that share a state, over several requests (Berkeley Function-Calling Leaderboard v4)."""
