"""SDP: certified predicate chains on the plan graph (State-Centric Decision Process)."""
