"""The games themselves: the real engine, its files, our own generator and the oracle. No agent sees any of it."""
