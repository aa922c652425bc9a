"""The ``compact`` prompt format as requests and readers, for the bundled LM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from envs.sokoban.domain import SokobanDomain, as_state
from envs.sokoban.prompts import compact_text as compact
from envs.sokoban.state import ACTIONS, State
from tape.errors import ConfigError, InvalidOutputError
from tape.lm.base import OneOf, Regex, Request
from tape.protocols import Action, Plan
from tape.protocols import State as AbstractState
from tape.protocols.prompt_format import OfferedPath, PromptFormat

_SCORE_CHOICE = OneOf(tuple(compact.text([word]) for word in compact.SCORES))
_SCORE_VALUES = {compact.text([word]): value for word, value in compact.SCORES.items()}


class CompactFormat(PromptFormat):
    """The prompts of the bundled models; texts: :mod:`envs.sokoban.prompts.compact_text`.

    Raises:
        ConfigError: The board is too small or too large for the vocabulary.
    """

    def __init__(self, domain: SokobanDomain) -> None:
        level = domain.level
        if not all(compact.MIN_SIDE <= side <= compact.MAX_SIDE for side in (level.rows, level.cols)):
            raise ConfigError(
                f"level {level.title!r} is {level.rows}x{level.cols}; the bundled LM reads boards from "
                f"{compact.MIN_SIDE}x{compact.MIN_SIDE} to {compact.MAX_SIDE}x{compact.MAX_SIDE}. "
                "Use a smaller level or another model"
            )
        self._domain, self._level = domain, level

    def _prompt(self, state: AbstractState, query: list[str]) -> str:
        return compact.text([*compact.state_words(self._level, as_state(state)), *query])

    def _steps(self, remaining: Mapping[str, int]) -> int:
        return min(max(remaining.get("steps", compact.MAX_NUMBER), 1), compact.MAX_NUMBER)

    def plan_request(self, state: AbstractState, remaining: Mapping[str, int]) -> Request:
        """``<plan> steps: 8 ->``; at most as many moves as steps remain."""
        steps = self._steps(remaining)
        prompt, moves = self._prompt(state, compact.plan_query(steps)), f"(?: (?:{'|'.join(ACTIONS)})){{1,{steps}}}"
        return Request(prompt, max_tokens=steps + 1, constraint=Regex(moves), role="plan")

    def read_plan(self, state: AbstractState, text: str) -> Plan:
        """Moves up to the first word that is none."""
        del state
        words = text.split()
        actions = tuple(takewhile(ACTIONS.__contains__, words))
        return Plan(actions, valid=bool(words) and len(actions) == len(words))

    def next_request(self, state: AbstractState, action: Action, *, valid: bool = False) -> Request:
        """``<next> U ->``."""
        cells = len(as_state(state).boxes) + 1
        prompt = self._prompt(state, compact.next_query(action))
        pattern = rf"(?: \([0-9],[0-9]\)){{{cells}}}" + ("" if valid else "| invalid")
        return Request(prompt, max_tokens=cells + 1, constraint=Regex(pattern), role="next")

    def read_next(self, state: AbstractState, text: str) -> State | None:
        """Player and boxes, or ``invalid``."""
        if text.split() == ["invalid"]:
            return None
        cells = self._domain.cells(text)
        if len(cells) != len(as_state(state).boxes) + 1:
            raise InvalidOutputError(f"expected a player and {len(as_state(state).boxes)} boxes on the board")
        return State(cells[0], tuple(sorted(cells[1:])))

    def score_request(self, state: AbstractState) -> tuple[Request, Mapping[str, float]]:
        """``<score> ->`` with the options solved, open and hopeless."""
        prompt = self._prompt(state, compact.score_query())
        return Request(prompt, max_tokens=2, constraint=_SCORE_CHOICE, role="score"), _SCORE_VALUES

    def act_request(
        self, state: AbstractState, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """``<act> steps: 8 plan: .. ->``; with ``action`` only the kind of move is the model's to write."""
        wanted = action or f"(?:{'|'.join(ACTIONS)})"
        query = compact.act_query(self._steps(remaining), list(plan)[: compact.MAX_NUMBER])
        pattern = f" next: (?:move|push) {wanted} action: {wanted}"
        return Request(self._prompt(state, query), max_tokens=6, constraint=Regex(pattern), role="act")

    def read_act(self, state: AbstractState, text: str) -> tuple[str, Action]:
        """The thought before ``action:`` and the word after it."""
        del state
        words = text.split()
        if "action:" not in words or words[-1] not in ACTIONS:
            raise InvalidOutputError("expected 'action:' and one of U, D, L, R")
        return " ".join(words[: words.index("action:")]), words[-1]

    def select_request(
        self, state: AbstractState, paths: Sequence[OfferedPath], remaining: Mapping[str, int]
    ) -> Request:
        """The plan query again, with the paths as the only admissible answers.

        The bundled model was trained on no prompt with scores or costs of plans, so it is shown what is left alone.
        """
        prompt = self._prompt(state, compact.plan_query(self._steps(remaining)))
        most = max(len(path.actions) for path in paths) + 1
        options = tuple(compact.text(path.actions) for path in paths)
        return Request(prompt, max_tokens=most, constraint=OneOf(options), role="select")
