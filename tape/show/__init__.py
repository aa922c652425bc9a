"""Everything drawn: plan graphs as pictures, runs and replays on the terminal."""
