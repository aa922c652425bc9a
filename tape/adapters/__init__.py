"""TAPE beside other tools. Each needs an extra of its own, and nothing here is loaded unless it is asked for."""
