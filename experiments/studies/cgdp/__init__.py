"""Studies of search agents (CGDP)."""
