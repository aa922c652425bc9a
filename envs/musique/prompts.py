"""How a question, look-ups and passages are written for the bundled tool LM."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import partial

from envs.musique.chat_examples import chat_format
from envs.musique.errors import TooManyEntitiesError
from envs.musique.words import (
    MOST_ENTITIES,
    RELATIONS,
    VOCABULARY,
    Words,
    delexicalise,
    parse_query,
    query_text,
    unknown_words,
)
from tape.errors import InvalidOutputError, ModelError
from tape.reading import parse_json, short
from tape.tools.calls import Call, call
from tape.tools.environment import PromptFormats
from tape.tools.prompts.compact import CompactToolFormat, Reading
from tape.tools.state import ToolState

UNKNOWN_SHARE = 0.05
"""A question of which more words are unknown is none that the bundled LM can read."""

MOST_WORDS = 300
"""Of passages that are read at once; the model's window is 512 tokens."""

_LAST_SLOT = f"e{MOST_ENTITIES}"
_WIDEST_RELATION, _WIDEST_WORD = (max(words, key=lambda word: len(word.encode())) for words in (RELATIONS, VOCABULARY))
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_USE_ANOTHER = "Choose a general model, for instance --model openai:NAME"


class LookUpLexicon:
    """Implements :class:`tape.tools.prompts.compact.Lexicon`: names are slots in the order of question and answers.

    Args:
        question: The question.
    """

    def __init__(self, question: str) -> None:
        self._question = question

    def _words(self, state: ToolState) -> Words:
        return self._delexicalised(self._names(state)) if state.got else self._delexicalised()

    def _delexicalised(self, names: Sequence[str] = ()) -> Words:
        try:
            return delexicalise([self._question], names)
        except TooManyEntitiesError as error:
            raise ModelError(
                f"unsupported: the bundled tool LM cannot read the question and what was found: {error}. {_USE_ANOTHER}"
            ) from None

    def _names(self, state: ToolState) -> list[str]:
        """The names of the question and then those that were found, in order."""
        found = [value for value in state.values() if isinstance(value, str)]
        return [*self._delexicalised().entities, *found]

    def task(self) -> list[str]:
        """The words of the question.

        Raises:
            ModelError: It is not written in words that the bundled LM knows, or names too much.
        """
        [tokens] = self._delexicalised().tokens
        unknown = unknown_words(tokens)
        if len(unknown) > UNKNOWN_SHARE * len(tokens):
            raise ModelError(
                "unsupported: the bundled tool LM reads questions of the project's own corpus alone, and not this one: "
                f"{len(unknown)} of its words are unknown to it, for instance {', '.join(unknown[:5])}. {_USE_ANOTHER}"
            )
        return ["<unk>" if token in unknown else token for token in tokens]

    def arguments(self, state: ToolState, call: Call) -> list[str]:
        """``founder e1``."""
        text = parse_json(dict(call.args)["query"], "the query", error=InvalidOutputError)
        parsed = parse_query(text) if isinstance(text, str) else None
        if parsed is None:
            raise InvalidOutputError(f"the bundled tool LM has no words for the query {short(text)}")
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
        names = len(self._delexicalised().entities)
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
        """The passages that were retrieved last, and what was looked for; None where all has been read.

        Raises:
            ModelError: What was looked for is no relation of a name.
        """
        found = state.unread()
        if found is None:
            return None
        query = found.call.values(state.values()[:-1])["query"]
        parsed = parse_query(query)
        if parsed is None:
            raise ModelError(
                f"unsupported: the bundled tool LM cannot read for the query {str(query)[:80]!r}. {_USE_ANOTHER}"
            )
        relation, subject = parsed
        words = _beginning(found.text, subject)
        [tokens] = words.tokens
        unknown = set(unknown_words(tokens))
        read = tuple("<unk>" if token in unknown else token for token in tokens[:MOST_WORDS])
        others = enumerate(words.entities[1:], 2)
        options = {f"e{number}": json.dumps(name, ensure_ascii=False) for number, name in others}
        return Reading(read, (relation, "e1"), options)

    def longest_call(self, kind: str) -> list[str]:
        """A relation, a name, and the name that was found."""
        del kind
        return [_WIDEST_RELATION, _LAST_SLOT, "=", _LAST_SLOT]

    def longest_reading(self) -> Reading | None:
        """As many words as are read at once, none of them longer, and every slot as an answer."""
        options = {f"e{number}": "" for number in range(2, MOST_ENTITIES + 1)}
        return Reading((_WIDEST_WORD,) * MOST_WORDS, (_WIDEST_RELATION, "e1"), options)


def _beginning(text: str, subject: str) -> Words:
    """The words of the sentences at the beginning of a text whose names all have slots; of the first one, of a part."""

    def words(parts: Sequence[str], count: int) -> Words | None:
        try:
            return delexicalise([" ".join(parts[:count])], [subject])
        except TooManyEntitiesError:
            return None

    def crowded(parts: Sequence[str], count: int) -> bool:
        return words(parts, count) is None

    found = None
    for parts in (_SENTENCE_END.split(text), text.split()):
        # More text never has fewer names.
        too_many = bisect_left(range(1, len(parts) + 1), True, key=partial(crowded, parts))
        found = words(parts, too_many)
        if too_many:
            break
    assert found is not None, "no text has no names"
    return found


def look_up_question(text: str) -> PromptFormats:
    """A question as general models and as the bundled tool LM read it.

    Args:
        text: The question.
    """
    return {"chat": chat_format, "tools": lambda domain: CompactToolFormat(domain, LookUpLexicon(text))}
