"""Search: a question, a corpus of passages, and ways to search it; what :mod:`tape.methods.cgdp` plays on."""

from envs.search.environment import SearchEnvironment
from envs.search.errors import SearchError
from envs.search.index import Index
from envs.search.retrieval import bm25, dense, hybrid
from tape.protocols.search import Passage

__all__ = ["Index", "Passage", "SearchEnvironment", "SearchError", "bm25", "dense", "hybrid"]
