"""Who decomposes, reads and verifies: a general model, the bundled one, or a script where it says so."""
