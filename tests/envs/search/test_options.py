"""The options of search environments on the command line."""

from __future__ import annotations

import argparse
import re

import pytest

from envs.search import SearchError
from envs.search.environment import DEPTHS
from envs.search.options import Retrieval, add_arguments, read_options
from tests.envs.search.helpers import PASSAGES


def read(*arguments: str) -> Retrieval:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return read_options(vars(parser.parse_args(arguments)))


def test_what_is_left_out_is_bm25_at_the_usual_depths() -> None:
    assert read() == read_options({}) == Retrieval(("bm25",), 0.5, DEPTHS, "minilm")
    assert read().label == "bm25"
    [index] = read().indexes(PASSAGES)
    assert index.name == "bm25"
    assert read().indexes(PASSAGES)[0] is index


def test_what_differs_is_named() -> None:
    assert read("--retriever", "hybrid, bm25", "--alpha", "0.9").label == "hybrid0.9-bm25"
    assert read("--depths", "10").label == "bm25-depths-10"
    assert read("--retriever", "dense", "--embeddings", "hf:model").label == "dense-hf:model"
    assert [index.name for index in read("--retriever", "hybrid,bm25", "--alpha", "1").indexes(PASSAGES)] == [
        "hybrid1",
        "bm25",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--retriever", "tfidf"], "there is no retriever 'tfidf'; there is: bm25, dense, hybrid"),
        (["--retriever", "bm25,bm25"], "names one twice"),
        (["--alpha", "0.5"], "--alpha weighs BM25 in hybrid"),
        (["--retriever", "hybrid", "--alpha", "1.5"], "a number from 0 to 1, got 1.5"),
        (["--retriever", "hybrid", "--alpha", "0.9000001"], "six digits at most"),
        (["--retriever", "hybrid", "--alpha", "nan"], "a number from 0 to 1, got nan"),
        (["--depths", "0"], "--depths are numbers of passages"),
        (["--depths", "5,,3"], "--depths are numbers of passages"),
        (["--depths", "5,5"], "names one twice: 5,5"),
        (["--depths", "9" * 4000], "--depths are numbers of passages"),
        (["--embeddings", "hf:model"], "--embeddings are for dense and hybrid"),
        (["--retriever", "hybrid", "--alpha", "1", "--embeddings", "hf:model"], "--embeddings are for"),
    ],
)
def test_what_cannot_be_read(arguments: list[str], message: str) -> None:
    with pytest.raises(SearchError, match=re.escape(message)):
        read(*arguments)


def test_calibration_is_of_the_options_that_were_measured() -> None:
    calibration = read("--retriever", "hybrid,bm25", "--depths", "5,7").calibration("musique-own-corpus")
    assert set(calibration) == {"hybrid0.5-5", "bm25-5"}
    assert all(0 < success <= 1 for success in calibration.values())
    lexical = read("--retriever", "hybrid", "--alpha", "1").calibration("musique-own-corpus")
    assert lexical == {f"hybrid1-{k}": read().calibration("musique-own-corpus")[f"bm25-{k}"] for k in (5, 3, 10)}
    deeper = read("--depths", "1,3,5,10,20").calibration("musique-own-corpus")
    assert list(deeper.values()) == sorted(deeper.values())
    assert len(deeper) == 5
    other = read("--retriever", "dense,bm25", "--embeddings", "hf:model")
    assert other.calibration("musique-own-corpus") == read().calibration("nobody knows it") == {}
