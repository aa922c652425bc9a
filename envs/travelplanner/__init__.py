"""Itineraries under a budget: the public trip-planning benchmark's format, metrics and our own generated trips."""
