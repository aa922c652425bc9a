"""Questions that take several look-ups, over a local corpus and retrievers of rising price and quality."""

from envs.musique.corpus import load_corpus, load_questions
from envs.musique.environment import MusiqueEnvironment
from envs.musique.question import MusiqueQuestion
from envs.musique.retrieval import Corpus
from tape.protocols.search import Passage

__all__ = ["Corpus", "MusiqueEnvironment", "MusiqueQuestion", "Passage", "load_corpus", "load_questions"]
