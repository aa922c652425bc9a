"""Training text for questions of several hops and for reading."""

import random
import re

from envs.musique.corpus import is_held_out, load_corpus, load_questions
from envs.musique.wordings import RELATIONS as WORDINGS
from envs.musique.words import delexicalise
from experiments.training.tools.example import Example
from experiments.training.tools.reading import example, vocabulary


def examples(seed: int, count: int) -> list[Example]:
    rng = random.Random(f"test:reading:{seed}")
    return [example(rng) for _ in range(count)]


def text_of(prefix: list[str]) -> list[str]:
    """The text; what was got and what failed after it is well-formed."""
    got_at, failed_at = prefix.index("got:"), prefix.index("failed:")
    for entry in " ".join(prefix[got_at + 1 : failed_at]).split(" ;")[:-1]:
        assert re.fullmatch(r" ?search \S+ \S+ = \S+", entry)
    for entry in " ".join(prefix[failed_at + 1 :]).split(" ;")[:-1]:
        assert re.fullmatch(r" ?search \S+ \S+ \S+", entry)
    assert prefix[0] == "text:"
    return prefix[1:got_at]


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
    texts = [text_of(d.prefix) for d in examples(3, 4000) if d.queries[0][0][0] != "<read>"]
    assert len(texts) > 1500
    for text in texts:
        sentence = " ".join(text)
        assert sentence not in shipped
        assert not is_held_out(sentence.replace("e1", "Aldera"))
        for start, end in unseen:
            assert not (start and end.strip() and sentence.startswith(start) and sentence.endswith(f"{end} ?"))
