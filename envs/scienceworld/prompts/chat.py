"""The ``chat`` prompt format: ScienceWorld for general instruction-tuned LMs, instructions plus a JSON schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from pydantic import BaseModel, TypeAdapter, ValidationError

from envs.scienceworld.domain import as_state
from envs.scienceworld.prompts import chat_schema
from envs.scienceworld.prompts.chat_text import messages
from envs.scienceworld.reading import write_room
from envs.scienceworld.state import MOST_HISTORY, ScienceState, ScienceTask
from tape.errors import InvalidOutputError
from tape.lm.base import JsonSchema, Message, OneOf, Request
from tape.protocols import Action, Plan, State
from tape.protocols.answers import fields_of, items_of
from tape.protocols.predicates import Predicate
from tape.protocols.prompt_format import Examples, PromptFormat, asked
from tape.reading import parsed

SCORES = {"failed": -1.0, "nothing": 0.0, "little": 0.1, "half": 0.25, "most": 0.4, "complete": 1.0}
"""How much of the task is done, and what that is worth; what the engine takes for a goal is worth at least .5."""

# Some decoders put every value of a list on a line of its own, indented, hence the room beside a command.
_TOKENS_A_COMMAND, _REST, _NEXT_TOKENS = 30, 40, 1200
_ACT_TOKENS = chat_schema.LONGEST_THOUGHT + _TOKENS_A_COMMAND + _REST

_GUESSED = {"reach": "is within reach", "open": "is open"}
_YES, _NO = "yes", "no"
_COMMAND: TypeAdapter[str] = TypeAdapter(chat_schema.CommandText)


class ScienceChatFormat(PromptFormat):
    """Chat messages for general models.

    Args:
        examples: Worked examples by role, questions and answers; by default those of :func:`worked`.
    """

    def __init__(self, examples: Examples | None = None) -> None:
        self._examples = worked() if examples is None else examples

    def _messages(
        self, role: str, state: State, ask: str, remaining: Mapping[str, int] | None = None
    ) -> tuple[Message, ...]:
        return messages(as_state(state), ask, remaining, self._examples.get(role, ()))

    # --- plans ------------------------------------------------------------------------------

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for a thought and a JSON list of commands."""
        most = max(1, min(remaining.get("steps", chat_schema.MOST_PLANNED), chat_schema.MOST_PLANNED))
        ask = (
            f"Write the commands from here to the end of the task, at most {most}, one after the other. Guess where "
            "things are that nobody has seen yet. Speak only of rooms that can be reached. Think first, in one or two "
            "sentences: what does the task ask for in which order, and what of it is done? "
            'Answer as JSON with the fields "thought" and "actions", a list of commands.'
        )
        prompt = self._messages("plan", state, ask, remaining)
        tokens = chat_schema.LONGEST_THOUGHT + _REST + _TOKENS_A_COMMAND * most
        return Request(prompt, tokens, constraint=JsonSchema(chat_schema.PLAN), role="plan")

    def read_plan(self, state: State, text: str) -> Plan:
        """The commands of the JSON answer, or those at its beginning where it is malformed."""
        del state
        items, whole = items_of(text, "actions")
        whole = whole and set(fields_of(text)[0]) <= {"thought", "actions"}
        actions: list[Action] = []
        for item in items[: chat_schema.MOST_PLANNED]:
            try:
                actions.append(_COMMAND.validate_python(item, strict=True))
            except ValidationError:
                break
        return Plan(tuple(actions), valid=whole and 0 < len(items) == len(actions))

    # --- the world model --------------------------------------------------------------------

    def next_request(self, state: State, action: Action, *, valid: bool = False) -> Request:
        """Ask for what one command changes."""
        sure = ", which the world understands," if valid else ""
        ask = (
            f'What does the command "{action}"{sure} lead to? Answer as JSON. If the world does not take it for a '
            'command here, with the fields "command" and "valid", false. Else with the fields "command"; "valid", '
            'true; "room", the room you are in then; "gone", the lines of the description that are not there any more; '
            '"new", the lines that are new (in another room all that you expect); "carry", everything you carry then; '
            '"focus", what it focuses on or nothing; "reading", what it measures or reads or nothing; "score", the '
            'score then; "over", whether the task is over then. Lines are written as in the description, doors '
            "included."
        )
        model = chat_schema.next_model(action, as_state(state).lines, valid=valid)
        prompt = self._messages("next", state, ask)
        return Request(prompt, _NEXT_TOKENS, constraint=JsonSchema(model), role="next")

    def read_next(self, state: State, text: str) -> State | None:
        """The predicted state; None where the command is predicted to be refused, or the task is over before it.

        Raises:
            InvalidOutputError: The text is no prediction.
        """
        answer, before = parsed(chat_schema.NextAnswer, text), as_state(state)
        return predicted(before, answer) if answer.valid and not before.done else None

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Ask how much of the task is done, in one word."""
        ask = (
            "How much of the task is done? Answer with one word: failed if it cannot be completed any more, else "
            "nothing, little, half, most, or complete."
        )
        prompt = self._messages("score", state, ask)
        return Request(prompt, 4, constraint=OneOf(tuple(SCORES)), role="score"), SCORES

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
                claim = f"{predicate.args[0]} {_GUESSED[predicate.name]}"
                ask = f"Will it be so when a plan comes to need it: {claim}? Answer yes or no."
                prompt = self._messages("predict", state, ask)
                request = Request(prompt, 4, constraint=OneOf((_YES, _NO)), role="predict")
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
        task = "Think in one sentence: what does the task ask for next, and is it in sight? Then give the next command."
        schema: type[BaseModel] = chat_schema.FREE_ACT
        asked = as_state(state).choices
        if action is not None:
            schema, task = chat_schema.act_model(action), f'Say in one sentence why "{action}" is the next command.'
        elif asked:
            schema = chat_schema.act_model(*map(str, range(len(asked))))
            task = "Think in one sentence, then answer with the number of what is meant."
        ask = f'{task}{hint} Answer as JSON with the fields "thought" and "action", one command.'
        prompt = self._messages("act", state, ask, remaining)
        return Request(prompt, _ACT_TOKENS, constraint=JsonSchema(schema), role="act")

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The thought and the command.

        Raises:
            InvalidOutputError: There is none.
        """
        del state
        answer = parsed(chat_schema.ScienceActAnswer, text)
        return answer.thought, answer.action


def predicted(state: ScienceState, answer: chat_schema.NextAnswer) -> ScienceState:
    """A state with the changes that are predicted of a command."""
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


@cache
def worked() -> Examples:
    """A worked example of each role, from a game that there is not."""
    asked = "Your task is to put the red shell in the blue box. First, focus on the red shell. Then, move it."
    shell, box = "a red shell", "a blue box (containing nothing)"
    rest = [box, "A door to the pier (that is closed)"]
    start = ScienceState(
        ScienceTask("sort-shells", 0, "", asked),
        observation="",
        look=write_room("boathouse", [shell, *rest]),
        inventory=(),
        rooms=("boathouse", "pier"),
        visited=("boathouse",),
    )
    focused = replace(start, focused=("red shell",), history=("focus on red shell",), score=50)
    done = replace(
        focused,
        look=write_room("boathouse", ["a blue box (containing a red shell)", rest[1]]),
        history=(*focused.history, "move red shell to blue box"),
        score=100,
        done=True,
    )
    shown = ScienceChatFormat(examples={})
    command = "pick up red shell"
    taken = chat_schema.NextAnswer(command=command, valid=True, room="boathouse", gone=[shell], carry=[shell], score=50)
    left = {"steps": 8}
    thought = "First the focus on the red shell, which is in sight; then it goes into the blue box, which is here too."
    plan = {"thought": thought, "actions": ["focus on red shell", "move red shell to blue box"]}
    act = {"thought": "The focus is done; the shell has to go into the blue box.", "action": plan["actions"][1]}
    return {
        "plan": [_pair(shown.plan_request(start, left), plan)],
        "act": [_pair(shown.act_request(focused, left, None, ()), act)],
        "next": [_pair(shown.next_request(focused, command), taken.model_dump())],
        "score": [_pair(shown.score_request(done)[0], "complete"), _pair(shown.score_request(focused)[0], "half")],
    }


def _pair(request: Request, answer: object) -> tuple[str, str]:
    return asked(request), answer if isinstance(answer, str) else json.dumps(answer)
