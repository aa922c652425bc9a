"""Training text for questions of several hops and for reading."""

import random

from envs.musique.corpus import is_held_out, load_corpus, load_questions
from envs.musique.wordings import RELATIONS as WORDINGS
from envs.musique.words import delexicalise
from experiments.training.tools.example import Example
from experiments.training.tools.reading import example, vocabulary


def examples(seed: int, count: int) -> list[Example]:
    rng = random.Random(f"test:reading:{seed}")
    return [example(rng) for _ in range(count)]


def is_reading(drawn: Example) -> bool:
    return drawn.queries[0][0][0] == "<read>"


def parse_state(prefix: list[str]) -> tuple[list[str], list[tuple[str, str, str]], list[tuple[str, str, str]]]:
    """Text, what was got and what failed."""
    got_at = prefix.index("got:")
    failed_at = prefix.index("failed:")
    got, failed = [], []
    for entry in " ".join(prefix[got_at + 1 : failed_at]).split(" ;")[:-1]:
        search, relation, subject, equals, answer = entry.split()
        assert (search, equals) == ("search", "=")
        got.append((relation, subject, answer))
    for entry in " ".join(prefix[failed_at + 1 :]).split(" ;")[:-1]:
        search, variant, relation, subject = entry.split()
        assert search == "search"
        failed.append((variant, relation, subject))
    assert prefix[0] == "text:"
    return prefix[1:got_at], got, failed


def test_every_word_is_in_the_vocabulary_and_every_query_is_well_formed() -> None:
    words = vocabulary()
    assert words == sorted(set(words))
    known = set(words)
    for drawn in examples(2, 3000):
        assert known.issuperset(drawn.prefix)
        for prompt, answer in drawn.queries:
            assert known.issuperset(prompt)
            assert known.issuperset(answer)
            assert prompt[-1] == "->"
            assert answer
            assert "->" not in prompt[:-1]
    for text in (*(p.text for p in load_corpus()), *(q.text for q in load_questions())):
        assert known.issuperset(delexicalise([text]).tokens[0])


def test_no_question_is_held_out_and_no_wording_either() -> None:
    shipped = {" ".join(delexicalise([q.text]).tokens[0]) for q in load_questions()}
    unseen = [r.questions[-1].removesuffix("?").split("{x}") for r in WORDINGS.values()]
    texts = [parse_state(d.prefix)[0] for d in examples(3, 4000) if not is_reading(d)]
    assert len(texts) > 1500
    for text in texts:
        sentence = " ".join(text)
        assert sentence not in shipped
        assert not is_held_out(sentence.replace("e1", "Aldera"))
        for start, end in unseen:
            assert not (start and end.strip() and sentence.startswith(start) and sentence.endswith(f"{end} ?"))
