"""Certified subgoal chains (SDP)."""
