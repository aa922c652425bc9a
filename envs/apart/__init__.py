"""Python that comes with a benchmark's data, run in a process of its own: no network, no programs, no files written."""
