"""How a question, look-ups and passages are written for the bundled tool LM."""

from __future__ import annotations

import json
from collections.abc import Sequence

from envs.musique.errors import MusiqueError
from envs.musique.words import RELATIONS, Words, delexicalise, parse_query, query_text, unknown_words
from envs.tools.calls import Call, call
from envs.tools.compact_dialect import Reading
from envs.tools.state import ToolState
from tape.errors import InvalidOutputError, ModelError

UNKNOWN_SHARE = 0.05
"""A question of which more words are unknown is none that the bundled LM can read."""

MOST_WORDS = 300
"""Of passages that are read at once; the model's window is 512 tokens."""


class LookUpLexicon:
    """Implements :class:`envs.tools.compact_dialect.Lexicon`: names are slots in the order of question and answers.

    Args:
        question: The question.
    """

    def __init__(self, question: str) -> None:
        self._question = question

    def _words(self, state: ToolState) -> Words:
        return delexicalise([self._question], self._names(state)) if state.got else delexicalise([self._question])

    def _names(self, state: ToolState) -> list[str]:
        """The names of the question and then those that were found, in order."""
        found = [value for value in state.values() if isinstance(value, str)]
        return [*delexicalise([self._question]).entities, *found]

    def task(self) -> list[str]:
        """The words of the question.

        Raises:
            ModelError: It is not written in words that the bundled LM knows.
        """
        [tokens] = delexicalise([self._question]).tokens
        unknown = unknown_words(tokens)
        if len(unknown) > UNKNOWN_SHARE * len(tokens):
            raise ModelError(
                "unsupported: the bundled tool LM reads questions of the project's own corpus alone, and not this one: "
                f"{len(unknown)} of its words are unknown to it, for instance {', '.join(unknown[:5])}. Choose a "
                "general model, for instance --model openai:NAME"
            )
        return ["<unk>" if token in unknown else token for token in tokens]

    def arguments(self, state: ToolState, call: Call) -> list[str]:
        """``founder e1``."""
        text = json.loads(dict(call.args)["query"])
        parsed = parse_query(text)
        if parsed is None:
            raise InvalidOutputError(f"the bundled tool LM has no words for the query {text[:80]!r}")
        relation, subject = parsed
        slot = subject if subject.startswith("#") else self._words(state).slot(subject)
        if slot is None:
            raise InvalidOutputError(f"the bundled tool LM has no word for the name {subject[:40]!r}")
        return [relation, slot]

    def result(self, state: ToolState, number: int) -> list[str]:
        """``= e3``; nothing for a result that is only predicted."""
        value = state.values()[number - 1]
        slot = self._words(state).slot(value) if isinstance(value, str) else None
        return [] if slot is None else ["=", slot]

    def pattern(self, state: ToolState, kind: str, references: str) -> str:
        """A relation, and a name of the question or a reference."""
        del state, kind
        names = len(delexicalise([self._question]).entities)
        options = [*(f"e{number}" for number in range(1, names + 1)), *([references] if references else [])]
        return f"(?:{'|'.join(RELATIONS)}) (?:{'|'.join(options) or 'e1'}) "

    def read(self, state: ToolState, kind: str, words: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """The query behind the words."""
        if len(words) != 2 or words[0] not in RELATIONS:
            raise InvalidOutputError(f"expected a relation and a name, got {' '.join(words)[:80]!r}")
        subject = words[1] if words[1].startswith("#") else self._words(state).name(words[1])
        if subject is None:
            raise InvalidOutputError(f"there is no name {words[1]}")
        return call(kind, query=query_text(words[0], subject)).args

    def reading(self, state: ToolState) -> Reading | None:
        """The passages that were retrieved last, and what was looked for; None where all has been read."""
        found = state.unread()
        if found is None:
            return None
        query = found.call.values(state.values()[:-1])["query"]
        parsed = parse_query(query)
        if parsed is None:
            raise MusiqueError(f"the bundled tool LM cannot read for the query {query[:80]!r}; use another model")
        relation, subject = parsed
        words = delexicalise([found.text], [subject])
        [tokens] = words.tokens
        unknown = set(unknown_words(tokens))
        read = tuple("<unk>" if token in unknown else token for token in tokens[:MOST_WORDS])
        options = {slot: json.dumps(name, ensure_ascii=False) for slot, name in _slots(words).items() if slot != "e1"}
        return Reading(read, (relation, "e1"), options)


def _slots(words: Words) -> dict[str, str]:
    return {f"e{number}": name for number, name in enumerate(words.entities, 1)}
