"""The ``tools`` prompt format: calls in the words of the bundled tool LM, one token a word and the space after it.

A prompt is the state followed by one query; what follows the arrow is the model's::

    text: ann has n1 coins . ... got: multiply n1 n2 ; failed: <plan> afford: 9 4 1 -> add v3 #1 n3 ; answer #2
    ... <act> afford: 9 4 1 -> add v3 #1 n3
    ... <act> afford: 9 4 1 plan: add v3 #1 n3 ; answer #2 -> add v3 #1 n3
    ... <score> answer #2 -> right                                            or: wrong
    text: ... <read> founder e1 -> e5                                         or: none

``v1`` is the cheapest variant of a tool, ``afford:`` says how many calls of each variant the rest of the budget pays
(at most 9), ``#1`` is the first result; how numbers and names are written is the environment's :class:`Lexicon`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tape.errors import InvalidOutputError
from tape.lm.base import Choice, Regex, Request
from tape.lm.constraints import escape
from tape.protocols import Action, Plan, State
from tape.protocols.prompt_format import OfferedPath
from tape.tools.calls import ANSWER, Call, answer, parse
from tape.tools.domain import ToolDomain, as_state
from tape.tools.errors import ToolError
from tape.tools.prompts.common import JUDGED_WRONG, ToolFormat
from tape.tools.state import ToolState
from tape.tools.variants import affordable

MOST_REFERENCES = 9
"""The vocabulary has ``#1`` to ``#9``."""

MOST_FAILED = 9
"""Failed calls in the longest request."""

_RIGHT, _WRONG, _NONE = "right ", "wrong ", "none "
_REFERENCE = re.compile(r"#[1-9]")


@dataclass(frozen=True)
class Reading:
    """What a model is asked to read.

    Attributes:
        text: The words of the text.
        query: The words of the question.
        options: The answers there can be, by their words.
    """

    text: tuple[str, ...]
    query: tuple[str, ...]
    options: Mapping[str, str]


class Lexicon(Protocol):
    """How an environment's task, arguments and results are written in words."""

    def task(self) -> list[str]:
        """The words of the task.

        Raises:
            ModelError: The model cannot read it: ``unsupported``.
        """

    def arguments(self, state: ToolState, call: Call) -> list[str]:
        """The words of a call's arguments."""

    def result(self, state: ToolState, number: int) -> list[str]:
        """The words of the result ``#number``, if results are shown."""

    def pattern(self, state: ToolState, kind: str, references: str) -> str:
        """A regular expression of the arguments of a kind, each word with a space after it.

        Args:
            state: The state.
            kind: The kind of tool.
            references: The regular expression of a reference, or empty if there is none yet.
        """

    def read(self, state: ToolState, kind: str, words: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """The arguments that words stand for, as a :class:`Call` has them.

        Raises:
            InvalidOutputError: They stand for none.
        """

    def reading(self, state: ToolState) -> Reading | None:
        """What has to be read in the last result, if anything."""

    def longest_call(self, kind: str) -> list[str]:
        """As many words as the arguments of a call of a kind and its result may have, and as long."""

    def longest_reading(self) -> Reading | None:
        """As long as :meth:`reading` may be; None where nothing is ever read."""


class CompactToolFormat(ToolFormat):
    """The prompts of the bundled tool LM.

    Args:
        domain: The task and its tools; kinds with variants share one table of prices.
        lexicon: How its words are written.

    Raises:
        ToolError: Some have more than one variant, but not as many as others.
    """

    def __init__(self, domain: ToolDomain, lexicon: Lexicon) -> None:
        super().__init__(domain)
        self._lexicon = lexicon
        self._kinds = domain.toolbox.kinds
        self._names = {kind: [item.variant for item in domain.toolbox.of_kind(kind)] for kind in self._kinds}
        # A kind that has one tool only shows nothing of what the others cost.
        self._table = max(map(domain.toolbox.of_kind, self._kinds), key=len)
        for kind in self._kinds:
            if len(self._names[kind]) not in (1, len(self._table)):
                raise ToolError(
                    f"{kind} has {len(self._names[kind])} variants, another kind {len(self._table)}: the bundled tool "
                    "LM knows one table for all; give each kind as many variants, or one tool only"
                )

    # --- writing ----------------------------------------------------------------------------

    def _call(self, state: ToolState, call: Call, *, variant: bool = True) -> list[str]:
        if call.kind == ANSWER:
            return [ANSWER, call.args[0][1]]
        rank = [f"v{self._names[call.kind].index(call.variant) + 1}"] if variant else []
        return [call.kind, *rank, *self._lexicon.arguments(state, call)]

    def _prefix(self, state: ToolState) -> list[str]:
        words = ["text:", *self._lexicon.task(), "got:"]
        for number, found in enumerate(state.got, 1):
            words += [*self._call(state, found.call, variant=False), *self._lexicon.result(state, number), ";"]
        words.append("failed:")
        for call in (*state.failed, *state.refused):  # the words have none for a refusal
            words += [*self._call(state, call), ";"]
        return words

    def _afford(self, remaining: Mapping[str, int]) -> list[str]:
        priced = {kind: left for kind, left in remaining.items() if kind != "steps"}
        paid = affordable([item.as_variant() for item in self._table], priced)
        return ["afford:", *map(str, paid)]

    def _calls(self, state: ToolState, actions: Sequence[Action]) -> list[str]:
        words: list[str] = []
        for action in actions:
            words += [*([";"] if words else []), *self._call(state, parse(action))]
        return words

    @staticmethod
    def _text(words: Sequence[str]) -> str:
        # A space ends each token, so none is the beginning of another, on which a constraint could run aground.
        return "".join(f"{word} " for word in words)

    # --- planning and acting ----------------------------------------------------------------

    def _call_pattern(self, state: ToolState, references: str) -> str:
        return "(?:" + "|".join(self._kind_pattern(state, kind, references) for kind in self._kinds) + ")"

    def _kind_pattern(self, state: ToolState, kind: str, references: str) -> str:
        ranks = "|".join(f"v{rank}" for rank in range(1, len(self._names[kind]) + 1))
        return f"{kind} (?:{ranks}) {self._lexicon.pattern(state, kind, references)}"

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """``<plan> afford: 9 4 1 ->``: the calls still to be made, and the answer."""
        here = as_state(state)
        most = max(0, MOST_REFERENCES - len(here.got))
        one = self._call_pattern(here, "#[1-9]")
        calls = f"(?:{one}; ){{0,{most}}}"
        return Request(
            self._text([*self._prefix(here), "<plan>", *self._afford(remaining), "->"]),
            max_tokens=6 * most + 3,
            constraint=Regex(f"{calls}{ANSWER} #[1-9] "),
            role="plan",
        )

    def read_plan(self, state: State, text: str) -> Plan:
        """Calls up to the first that is none."""
        here = as_state(state)
        calls: list[Call] = []
        valid = False
        for part in text.split(";")[: MOST_REFERENCES + 1]:
            try:
                found = self._read(here, part.split())
            except InvalidOutputError:
                valid = False
                break
            calls.append(found)
            valid = found.kind == ANSWER
            if valid:
                break
        return self.plan_of(state, calls, valid=valid)

    def _read(self, state: ToolState, words: Sequence[str]) -> Call:
        if len(words) == 2 and words[0] == ANSWER and _REFERENCE.fullmatch(words[1]):
            return answer(words[1])
        ranks = {f"v{rank}": name for rank, name in enumerate(self._names.get(words[0], ()) if words else (), 1)}
        if len(words) < 3 or words[1] not in ranks:
            raise InvalidOutputError(f"expected a call, got {' '.join(words)[:80]!r}")
        return Call(words[0], ranks[words[1]], self._lexicon.read(state, words[0], words[2:]))

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """``<act> afford: 9 4 1 plan: .. ->``: the next call, or the answer."""
        here = as_state(state)
        hint = ["plan:", *self._calls(here, plan)] if plan else []
        last = min(len(here.got), MOST_REFERENCES)
        if action is not None:
            pattern = escape(self._text(self._call(here, parse(action))))
        else:
            known = f"#[1-{last}]" if last else ""
            pattern = self._call_pattern(here, known) + (f"|{ANSWER} {known} " if known else "")
        return Request(
            self._text([*self._prefix(here), "<act>", *self._afford(remaining), *hint, "->"]),
            max_tokens=6,
            constraint=Regex(pattern),
            role="act",
        )

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The action; this model writes no thoughts."""
        return "", self._read(as_state(state), text.split()).text

    def select_request(self, state: State, paths: Sequence[OfferedPath], remaining: Mapping[str, int]) -> Request:
        """The plan query again, with the paths as the only admissible answers.

        The bundled model was trained on no prompt with scores or costs of plans, so it is shown what is left alone.
        """
        here = as_state(state)
        options = tuple(self._text(self._calls(here, path.actions)) for path in paths)
        return Request(
            self._text([*self._prefix(here), "<plan>", *self._afford(remaining), "->"]),
            max_tokens=max(len(option.split()) for option in options) + 1,
            constraint=Choice(options),
            role="select",
        )

    # --- scoring, reading, answering --------------------------------------------------------

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """``<score> answer #2 ->``: right or wrong; the value of right is the quality of the results behind it."""
        here = as_state(state)
        prompt = self._text([*self._prefix(here), "<score>", ANSWER, here.answer or "#1", "->"])
        request = Request(prompt, max_tokens=2, constraint=Choice((_RIGHT, _WRONG)), role="score")
        quality = self._domain.quality(state)
        return request, {_RIGHT: quality, _WRONG: JUDGED_WRONG * quality}

    def project_request(self, state: State) -> Request | None:
        """``text: .. <read> founder e1 ->`` where the last result has to be read."""
        reading = self._lexicon.reading(as_state(state))
        if reading is None:
            return None
        return self._reading_request(reading)

    def _reading_request(self, reading: Reading) -> Request:
        prompt = self._text(["text:", *reading.text, "<read>", *reading.query, "->"])
        options = (*(f"{word} " for word in reading.options), _NONE)
        return Request(prompt, max_tokens=2, constraint=Choice(options), role="project")

    def read_project(self, state: State, text: str) -> ToolState:
        """The state with what was read, or with a failed call."""
        here = as_state(state)
        reading = self._lexicon.reading(here)
        assert reading is not None, "nothing had to be read"
        if text.strip() == _NONE.strip():
            return here.read(None)
        if text.strip() not in reading.options:
            raise InvalidOutputError(f"{text!r} is none of the answers there can be")
        return here.read(reading.options[text.strip()])

    def longest_project_request(self, state: State, action: Action) -> Request | None:
        """A reading of the longest text there can be; None after an action whose result is not read."""
        del state
        planned = parse(action)
        longest = self._lexicon.longest_reading()
        if longest is None or planned.kind == ANSWER or not self._domain.toolbox.find(planned).reads:
            return None
        return self._reading_request(longest)

    def answer_request(self, state: ToolState) -> Request:
        """The action query with an answer as the only action; without results there is none to give."""
        return self._answer_request(self._prefix(state), max(1, min(len(state.got), MOST_REFERENCES)))

    def _answer_request(self, prefix: Sequence[str], last: int) -> Request:
        options = tuple(f"{ANSWER} #{number} " for number in range(1, last + 1))
        prompt = self._text([*prefix, "<act>", *self._afford({}), "->"])
        return Request(prompt, max_tokens=3, constraint=Choice(options), role="answer")

    def longest_answer_request(self) -> Request:
        """With :data:`MOST_REFERENCES` results and :data:`MOST_FAILED` failed calls, all of the longest kind."""
        made = max(([kind, "v1", *self._lexicon.longest_call(kind), ";"] for kind in self._kinds), key=_width)
        prefix = [*self._prefix(ToolState())[:-1], *made * MOST_REFERENCES, "failed:", *made * MOST_FAILED]
        return self._answer_request(prefix, MOST_REFERENCES)

    def read_answer(self, state: ToolState, text: str) -> Call:
        """The answer as a call."""
        found = self._read(state, text.split())
        if found.kind != ANSWER:
            raise InvalidOutputError(f"expected an answer, got {text[:80]!r}")
        return found


def _width(words: Sequence[str]) -> tuple[int, int]:
    return len(words), sum(len(word.encode()) for word in words)
