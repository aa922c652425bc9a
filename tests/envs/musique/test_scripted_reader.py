"""The scripted reader reads every passage of our own corpus, and nothing that is not there."""

import pytest

from envs.musique.corpus import load_corpus
from envs.musique.environment import tools
from envs.musique.errors import MusiqueError
from envs.musique.plugin import PLUGIN
from envs.musique.retrieval import Corpus
from envs.musique.scripted_reader import read
from envs.musique.wordings import RELATIONS, query_text


def test_it_reads_every_fact_of_every_passage_and_invents_none() -> None:
    seen = 0
    for passage in load_corpus():
        for relation in RELATIONS:
            stated = read(query_text(relation, passage.title), [passage])
            assert stated is None or stated in passage.text, (passage.text, relation)
            seen += stated is not None
    assert seen > 300
    assert read("who is there?", list(load_corpus())) is None


def test_it_is_named_wherever_it_is_used() -> None:
    options = {"data": None, "questions": "dev", "tightness": "tight", "reader": "scripted"}
    assert {task.level_set for task in PLUGIN.tasks(options)} == {"musique-dev-scripted-reader-tight"}
    with pytest.raises(MusiqueError, match="own passages alone"):
        PLUGIN.tasks({**options, "data": "x.jsonl"})
    with pytest.raises(MusiqueError, match="no reader"):
        tools(Corpus(load_corpus()), "oracle")
