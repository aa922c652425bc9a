"""The ``chat`` prompt format: ScienceWorld for general instruction-tuned LMs, instructions plus a JSON schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from envs.scienceworld.domain import as_state
from envs.scienceworld.prompts import chat_schema
from envs.scienceworld.prompts.chat_text import messages
from envs.scienceworld.reading import write_room
from envs.scienceworld.state import MOST_HISTORY, ScienceState
from tape.errors import InvalidOutputError
from tape.lm.base import Choice, JsonSchema, Message, Request
from tape.protocols import Action, Plan, State
from tape.protocols.predicates import Predicate
from tape.protocols.prompt_format import OfferedPath, offered_text

SCORES = {"failed": -1.0, "nothing": 0.0, "little": 0.1, "half": 0.25, "most": 0.4, "complete": 1.0}
"""How much of the task is done, and what that is worth; what the engine takes for a goal is worth at least .5."""

_ACT_TOKENS, _NEXT_TOKENS, _TOKENS_A_COMMAND = 220, 900, 20

_GUESSED = {"reach": "is within reach", "open": "is open"}
_YES, _NO = "yes", "no"

_Answer = TypeVar("_Answer", bound=BaseModel)


class ChatFormat:
    """Implements :class:`tape.aec.predictor.PredictingFormat` with chat messages."""

    # --- plans ------------------------------------------------------------------------------

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for a JSON list of commands."""
        most = max(1, min(remaining.get("steps", chat_schema.MOST_PLANNED), chat_schema.MOST_PLANNED))
        ask = (
            f"Write the commands from here to the end of the task, at most {most}, one after the other. Guess where "
            "things are that nobody has seen yet. Speak only of rooms that can be reached. "
            'Answer as JSON: {"actions": ["go to kitchen", "pick up thermometer", ...]}'
        )
        prompt = messages(as_state(state), ask, remaining)
        tokens = 16 + _TOKENS_A_COMMAND * most
        return Request(prompt, tokens, constraint=JsonSchema(chat_schema.PlanAnswer), role="plan")

    def read_plan(self, state: State, text: str) -> Plan:
        """The commands of the JSON answer, or those at its beginning where it is malformed."""
        del state
        try:
            actions = tuple(chat_schema.PlanAnswer.model_validate_json(text).actions)
        except ValidationError:
            return Plan(tuple(chat_schema.beginning(text)), valid=False)
        return Plan(actions, valid=bool(actions))

    # --- the world model --------------------------------------------------------------------

    def rollout_request(self, state: State, actions: Sequence[Action]) -> Request | None:
        """None: descriptions are long, so a plan is predicted step by step."""
        del state, actions
        return None

    def read_rollout(self, state: State, actions: Sequence[Action], text: str) -> list[State | None]:
        """Rollouts are not asked for.

        Raises:
            InvalidOutputError: Always.
        """
        del state, actions
        raise InvalidOutputError(f"no rollout was asked for, got {text[:80]!r}")

    def next_request(self, state: State, action: Action, *, valid: bool = False) -> Request:
        """Ask for what one command changes."""
        sure = ", which the world understands," if valid else ""
        ask = (
            f'What does the command "{action}"{sure} lead to? If the world does not take it for a command here, answer '
            f'as JSON: {{"command": "{action}", "valid": false}}. Else: {{"command": "{action}", "valid": true, '
            '"room": the room you are in then, "gone": [lines of the description that are not there any more], '
            '"new": [lines that are new; in another room all that you expect], "carry": [everything you carry then], '
            '"focus": what it focuses on or "", "reading": what it measures or reads or "", "score": the score then, '
            '"over": whether the task is over then}. Lines are written as in the description, doors included.'
        )
        model = chat_schema.next_model(action, valid=valid)
        return Request(messages(as_state(state), ask), _NEXT_TOKENS, constraint=JsonSchema(model), role="next")

    def read_next(self, state: State, text: str) -> State | None:
        """The predicted state; None where the command is said not to be one, or the task is over before it.

        Raises:
            InvalidOutputError: The text is no prediction.
        """
        answer, before = _read(chat_schema.NextAnswer, text), as_state(state)
        return predicted(before, answer) if answer.valid and not before.done else None

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Ask how much of the task is done, in one word."""
        ask = (
            "How much of the task is done? Answer with one word: failed if it cannot be completed any more, else "
            "nothing, little, half, most, or complete."
        )
        prompt = messages(as_state(state), ask)
        return Request(prompt, 4, constraint=Choice(tuple(SCORES)), role="score"), SCORES

    def ask(self, state: State, question: str) -> tuple[Message, ...]:
        """What is known of a state, then a question of the engine's own."""
        return messages(as_state(state), question)

    # --- what nobody has seen ---------------------------------------------------------------

    def predict_request(
        self, state: State, predicates: Sequence[Predicate]
    ) -> list[tuple[Request, Sequence[Predicate]]]:
        """Yes or no, whether a thing will be within reach or a door open; of other predicates nothing is asked."""
        asked: list[tuple[Request, Sequence[Predicate]]] = []
        for predicate in predicates:
            if predicate.name in _GUESSED:
                said = f"{predicate.args[0]} {_GUESSED[predicate.name]}"
                ask = f"Will it be so when a plan comes to need it: {said}? Answer yes or no."
                request = Request(messages(as_state(state), ask), 4, constraint=Choice((_YES, _NO)), role="predict")
                asked.append((request, [predicate]))
        return asked

    def read_predict(self, state: State, predicates: Sequence[Predicate], text: str) -> Mapping[Predicate, bool]:
        """What one sampled answer says of the predicate that was asked about.

        Raises:
            InvalidOutputError: It is neither yes nor no.
        """
        del state
        if text.strip() not in (_YES, _NO):
            raise InvalidOutputError(f"neither yes nor no: {text[:80]!r}")
        return {predicate: text.strip() == _YES for predicate in predicates if predicate.name in _GUESSED}

    # --- acting -----------------------------------------------------------------------------

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for a thought and a command; with ``action`` the command is fixed and only the thought is free."""
        hint = f" Your plan goes on with: {'; '.join(plan)}. Keep to it while it fits what is known." if plan else ""
        task = "Think in one sentence, then give the next command."
        schema: type[BaseModel] = chat_schema.ActAnswer
        if action is not None:
            schema, task = chat_schema.act_model(action), f'Say in one sentence why "{action}" is the next command.'
        ask = f'{task}{hint} Answer as JSON: {{"thought": "...", "action": "..."}}'
        prompt = messages(as_state(state), ask, remaining)
        return Request(prompt, _ACT_TOKENS, constraint=JsonSchema(schema), role="act")

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The thought and the command.

        Raises:
            InvalidOutputError: There is none.
        """
        del state
        answer = _read(chat_schema.ActAnswer, text)
        return answer.thought, answer.action

    def read_intention(self, thought: str) -> Action | None:
        """None: what a thought about an experiment intends is not read."""
        del thought
        return None

    def select_request(self, state: State, paths: Sequence[OfferedPath], remaining: Mapping[str, int]) -> Request:
        """Ask for the number of the best plan."""
        listed = offered_text(paths, remaining)
        ask = f"Which of these plans completes the task within the steps left?\n{listed}\nAnswer with its number."
        options = tuple(str(number) for number in range(1, len(paths) + 1))
        return Request(messages(as_state(state), ask, remaining), 3, constraint=Choice(options), role="select")


def predicted(state: ScienceState, answer: chat_schema.NextAnswer) -> ScienceState:
    """A state with what a command is said to change."""
    here = state.room.name
    room = answer.room or here
    lines = [] if room != here else state.lines
    kept = [line for line in lines if line not in answer.gone]
    look = write_room(room, [*kept, *(line for line in answer.new if line not in kept)])
    history = (*state.history, answer.command)
    after = replace(
        state,
        observation="",
        path=(*state.path, answer.command),
        history=history[-MOST_HISTORY:],
        dropped=state.dropped + max(0, len(history) - MOST_HISTORY),
        look=look,
        inventory=tuple(answer.carry),
        score=max(-100, min(100, answer.score)),
        done=answer.over,
        focused=(*state.focused, answer.focus) if answer.focus else state.focused,
        reading=answer.reading or state.reading,
        visited=state.visited if room in state.visited else (*state.visited, room),
        choices=(),
        rejected=(),
        excluded=(),
    )
    return after.following(state, answer.command)


def _read(model: type[_Answer], text: str) -> _Answer:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise InvalidOutputError(f"no {model.__name__}: {error.errors()[0]['msg']}") from None
