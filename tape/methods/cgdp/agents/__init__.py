"""The agents that search a corpus, one file each."""
