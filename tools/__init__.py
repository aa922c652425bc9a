"""Helpers of the Makefile: installing and long test runs. Standard library only."""
