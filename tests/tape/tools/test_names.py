"""Names that anybody was free to choose become names of Python, no two alike."""

import keyword
import random

from tape.tools.words import is_python_name, python_names


def test_a_name_of_python_stays_and_another_is_written_like_it() -> None:
    names = {
        "q": "q", "pageSize": "pageSize", "größe": "größe", "名前": "名前", "नाम": "नाम", "match": "match",
        "page-size": "page_size", "$filter": "filter", "user.name": "user_name", "_meta": "meta", "from": "from_",
        "__": "x_2",
        "None": "None_", "2fa": "x2fa", "": "x", "@id": "id", "X-Api-Key": "X_Api_Key", "ﬁle": "file", "a b": "a_b",
    }  # fmt: skip
    assert python_names(names) == names


def test_reserved_names_and_those_of_others_are_not_given() -> None:
    assert python_names(["a-b", "a_b", "a.b", "b", "class", "class_"], {"b"}) == {
        "a-b": "a_b_2", "a_b": "a_b", "a.b": "a_b_3", "b": "b_", "class": "class__2", "class_": "class_",
    }  # fmt: skip


def test_what_a_name_becomes_depends_on_the_names_and_not_on_their_order() -> None:
    rng = random.Random("names")
    letters = ["a", "B", "1", "_", "-", ".", "$", " ", "ä", "ﬁ", "ा", "न", "/", "class", "if"]
    for _ in range(500):
        names = ["".join(rng.choices(letters, k=rng.randrange(4))) for _ in range(rng.randrange(12))]
        names += ["x" * 300, "x" * 299 + "-"]
        made = python_names(names, {"a", "x"})
        assert made == python_names(rng.sample(names, len(names)), {"a", "x"})
        assert made.keys() == set(names)
        assert len(set(made.values())) == len(made)
        assert all(is_python_name(name) and not keyword.iskeyword(name) for name in made.values())
        assert not {"a", "x"} & {*made.values()}
