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
from tape.lm.base import Choice, JsonSchema, Request
from tape.protocols import Action, Plan, State

SCORES = {"failed": -1.0, "nothing": 0.0, "little": 0.1, "half": 0.25, "most": 0.4, "complete": 1.0}
"""How much of the task is done, and what that is worth; what the engine takes for a goal is worth at least .5."""

_ACT_TOKENS, _NEXT_TOKENS, _TOKENS_A_COMMAND = 220, 900, 20

_Answer = TypeVar("_Answer", bound=BaseModel)


class ChatFormat:
    """Implements :class:`tape.protocols.prompt_format.PromptFormat` with chat messages."""

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
        """The predicted state; None where the command is said not to be one.

        Raises:
            InvalidOutputError: The text is no prediction.
        """
        answer = _read(chat_schema.NextAnswer, text)
        return predicted(as_state(state), answer) if answer.valid else None

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Ask how much of the task is done, in one word."""
        ask = (
            "How much of the task is done? Answer with one word: failed if it cannot be completed any more, else "
            "nothing, little, half, most, or complete."
        )
        prompt = messages(as_state(state), ask)
        return Request(prompt, 4, constraint=Choice(tuple(SCORES)), role="score"), SCORES

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

    def select_request(self, state: State, paths: Sequence[Sequence[Action]], remaining: Mapping[str, int]) -> Request:
        """Ask for the number of the best plan."""
        listed = "\n".join(f"{number}: {'; '.join(path)}" for number, path in enumerate(paths, 1))
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
    return replace(
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


def _read(model: type[_Answer], text: str) -> _Answer:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise InvalidOutputError(f"no {model.__name__}: {error.errors()[0]['msg']}") from None
