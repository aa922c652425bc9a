"""Writes the word list of the ``search`` prompt format: ``python -m experiments.training.search.vocabulary``.

Plain words are those of the trained wordings of our own corpora, words of Python, and a short list of everyday ones.
All else is a slot to the model, held-out wordings' own words among it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from envs.data_files import read_toml
from envs.locomo.relations import choices, relations
from envs.musique import wordings
from envs.repo_qa.wordings import chosen, wording
from tape.cgdp.prompts import lexicon

PYTHON = """
def class return self none true false if else elif for in not is import from raise with as try except lambda yield and
or async await pass while break continue assert finally global int str float bool list dict tuple set object type any
bytes optional union callable iterable sequence mapping iterator args kwargs cls len range isinstance super property
staticmethod classmethod key value name path data index init error default parameter parameters attributes methods
module function method result returns given
"""
EVERYDAY = """
a about after again all also always an and any are as at back be because been before being between both but by came can
come could day did do does done down each end even ever every few first for found from gave get give given go goes going
gone good got great had has have he her here hers him his how i i'm i've if in into is it it's its just keep kept know
last least left less let like little long made make many may me mean might more most much must my name never new next no
none nor not nothing now of off often old on once one only onto or other our out over own part people place put really
said same say says see seen she should since so some something soon still such take taken tell than that the their them
then there these they thing things think this those though three through time to together told too took two under until
up upon us use used using very want wanted was way we week well went were what when where whether which while who whom
whose why will with without word work would year years yes yet you your don't didn't isn't wasn't can't that's let's
"""
_WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*")


def texts() -> Iterator[str]:
    """All texts that plain words are taken from."""
    yield from (*wordings.TYPES, *wordings.FRAMES.who[:-1], *wordings.FRAMES.what[:-1])
    for relation in wordings.RELATIONS.values():
        yield from (relation.name, *relation.sentences[:-1], *relation.phrases[:-1], *relation.questions[:-1])
    for its in wordings.ENTITY_TYPES.values():
        yield from its.beside
    for told in relations():
        for group in (told.said, told.asked, told.linked, told.described):
            yield from (one.text for one in choices(group, held_out=False))
    talk = read_toml(resources.files("envs.locomo") / "data", "talk.toml")
    for field in talk.fields:
        value = talk.fields[field]
        yield from (value if isinstance(value, list) else [str(value)])
    code = wording()
    for worded in code.relations.values():
        yield from (*chosen(worded.phrases, "trained"), *chosen(worded.questions, "trained"))
    yield from code.names.values()
    yield from (PYTHON, EVERYDAY)


def main() -> None:
    """Write the list."""
    found: set[str] = set()
    for text in texts():
        found |= set(_WORD.findall(re.sub(r"\{\w+\}", " ", text).lower().replace("’", "'")))
    found = {re.sub(r"'s$", "", word) for word in found}
    path = Path(lexicon.__file__).with_name("search_words.txt")
    path.write_text("\n".join(sorted(found - {""})) + "\n", encoding="utf-8")
    print(f"wrote {len(found)} words to {path}")


if __name__ == "__main__":
    main()
