"""The ``chat`` prompt format: tools for general instruction-tuned models, instructions plus a JSON schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property

from pydantic import BaseModel, ValidationError

from tape.budget import in_units
from tape.errors import InvalidOutputError
from tape.lm.base import Choice, JsonSchema, Message, Request
from tape.protocols import Action, Plan, State
from tape.protocols.prompt_format import OfferedPath, offered_text
from tape.tools.calls import ANSWER, Call, answer, call, from_mapping, parse
from tape.tools.domain import ToolDomain, as_state, describe
from tape.tools.errors import InvalidCallError
from tape.tools.prompts import chat_schema
from tape.tools.prompts.common import JUDGED_WRONG, ToolFormat
from tape.tools.results import LONGEST_NOTE, LONGEST_QUESTION, LONGEST_RESULT, LONGEST_TEXT, cut, filler
from tape.tools.state import Obtained, ToolState
from tape.tools.tool import Tool

RULES = """You solve a task by calling tools. A placeholder #1, #2, ... stands for the result of the first, second, ...
successful call, and may be used as an argument, or inside a text argument; of a long result you are shown the beginning
only, its placeholder stands for all of it. Every call costs what is listed; a call that does not fit into what is left
of the budget is not made. Tools named KIND.VARIANT of one kind do the same at different
prices and qualities. The last thing to do is to answer; there is only one answer."""

CHANGES = """Calls are made in the order in which you list them, each as often as you list it; what stands under
"So far" has been done already. Only a call of a tool marked read-only is not made again while nothing has been changed.
A call that failed can be made again once another call has changed something."""
"""What is said besides where some of the tools are not pure."""

PLAN_TOKENS, ACT_TOKENS, ANSWER_TOKENS = 1200, 400, 100
_SCORES = {"right": 1.0, "wrong": JUDGED_WRONG}


class ChatToolFormat(ToolFormat):
    """Implements :class:`tape.protocols.prompt_format.ProjectingFormat` with chat messages."""

    def __init__(self, domain: ToolDomain) -> None:
        super().__init__(domain)
        tools = domain.toolbox.all()
        self._changes = not all(item.pure for item in tools)
        self._rules = f"{RULES}\n{CHANGES}" if self._changes else RULES
        self._tools = "\n".join(self._listed(item) for item in tools)

    def _listed(self, item: Tool) -> str:
        takes = ", ".join(
            f"{key}: {field.get('type', 'value')}"
            for key, field in item.arguments.model_json_schema().get("properties", {}).items()
        )
        worst = item.worst
        costs = ", ".join(in_units(kind, count) for kind, count in worst.items() if count is not None)
        costs += ", for the rest nobody knows" if None in worst.values() else ""
        quality = "" if item.quality is None else f"; right with probability {item.quality:g}"
        effect = " Destructive." if item.destructive else " Read-only." if item.pure and self._changes else ""
        return f"- {item.name}({takes}): {item.description} Costs at most {costs}{quality}.{effect}"

    @cached_property
    def _plan(self) -> type[BaseModel]:
        return chat_schema.plan_model(self._domain.toolbox)

    @cached_property
    def _act(self) -> type[BaseModel]:
        return chat_schema.act_model(self._domain.toolbox)

    def _messages(self, state: ToolState, ask: str, remaining: Mapping[str, int] | None = None) -> tuple[Message, ...]:
        left = ", ".join(in_units(kind, count) for kind, count in (remaining or {}).items())
        # Predicted results come up in worst cases only, so they are as long as any that is shown.
        done = describe(state, unknown=filler(LONGEST_RESULT))
        parts = [f"Tools:\n{self._tools}", f"Task: {self._domain.task}", f"So far:\n{done}"]
        parts += [f"Left of the budget: {left}"] if left else []
        return (Message("system", self._rules), Message("user", "\n\n".join([*parts, ask])))

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for the calls that are still to be made, and the answer."""
        here = as_state(state)
        ask = (
            "Write the calls that are still to be made, within the budget. "
            f"The next result will be #{len(here.got) + 1}."
            ' Answer as JSON: {"calls": [{"tool": NAME, "arguments": {...}}, ...], "answer": "#K"}'
        )
        return Request(
            self._messages(here, ask, remaining), PLAN_TOKENS, constraint=JsonSchema(self._plan), role="plan"
        )

    def read_plan(self, state: State, text: str) -> Plan:
        """The calls and the answer; of a malformed plan what can be read of its beginning."""
        try:
            data = self._plan.model_validate_json(text).model_dump(mode="json", exclude_unset=True)
            calls = [from_mapping(item["tool"], item["arguments"]) for item in data["calls"]]
            calls.append(answer(data["answer"]))
        except (ValidationError, InvalidCallError):
            return self.plan_of(state, _readable(text), valid=False)
        return self.plan_of(state, calls, valid=True)

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Ask whether the calls answer the task; a right answer is worth the quality of what it rests on."""
        here = as_state(state)
        done = "\n".join(f"#{number} {found.call.symbol}" for number, found in enumerate(here.got, 1))
        ask = (
            f"These calls were planned:\n{done or 'none'}\nand the answer {here.answer}. "
            "If every result is exact, is that the answer to the task? Answer right or wrong."
        )
        worth = {option: value * self.worth(state) for option, value in _SCORES.items()}
        prompt = (Message("system", self._rules), Message("user", f"Task: {self._domain.task}\n\n{ask}"))
        return Request(prompt, 3, constraint=Choice(tuple(_SCORES)), role="score"), worth

    def ask(self, state: State, question: str) -> tuple[Message, ...]:
        """What is known of a state, then a question of the engine's own."""
        return self._messages(as_state(state), question)

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for a thought and one call, or the answer."""
        hint = "\nA plan for what is left:\n" + "\n".join(plan) if plan else ""
        if action is None:
            form = '{"thought": "...", "call": {"tool": NAME, "arguments": {...}}}'
            ask = f'Choose the next call; the tool "{ANSWER}" with the argument value ends the task.{hint}'
            ask += f"\nAnswer as JSON: {form}"
            schema = self._act
        else:
            ask = f'The next action is {action}.{hint}\nAnswer as JSON: {{"thought": "...", "action": "..."}}'
            schema = chat_schema.fixed_model(action)
        prompt = self._messages(as_state(state), ask, remaining)
        return Request(prompt, ACT_TOKENS, constraint=JsonSchema(schema), role="act")

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The thought and the action."""
        del state
        data = chat_schema.json_object(text)
        if isinstance(data.get("action"), str):
            return str(data.get("thought", "")), parse(data["action"]).text
        try:
            read = self._act.model_validate_json(text).model_dump(mode="json", exclude_unset=True)
        except ValidationError as error:
            raise InvalidOutputError(f"no call: {error.errors()[0]['msg']}") from None
        return read["thought"], from_mapping(read["call"]["tool"], read["call"]["arguments"]).text

    def select_request(self, state: State, paths: Sequence[OfferedPath], remaining: Mapping[str, int]) -> Request:
        """Ask for the number of the best plan."""
        listed = offered_text(paths, remaining)
        ask = f"Which of these plans is best within the budget?\n{listed}\nAnswer with its number."
        options = tuple(str(i) for i in range(1, len(paths) + 1))
        return Request(self._messages(as_state(state), ask, remaining), 3, constraint=Choice(options), role="select")

    def project_request(self, state: State) -> Request | None:
        """Ask for what the last result says, where it is a text that has to be read."""
        found = as_state(state).unread()
        return (
            None
            if found is None
            else self._reading(found.call.symbol, self._question(as_state(state), found), found.text)
        )

    def _reading(self, symbol: str, question: str, text: str) -> Request:
        ask = (
            f"The call {symbol} asks: {question}\nIts result:\n{cut(text, LONGEST_TEXT)}\n\n"
            'What is the shortest answer that the result gives? Answer as JSON: {"found": true, "answer": "..."}; '
            "found is false if it gives none."
        )
        return Request((Message("user", ask),), ANSWER_TOKENS, constraint=JsonSchema(chat_schema.Reading))

    @staticmethod
    def _question(state: ToolState, found: Obtained) -> str:
        values = found.call.values(state.values()[:-1])
        return cut(", ".join(f"{name}: {value}" for name, value in values.items()), LONGEST_QUESTION)

    def read_project(self, state: State, text: str) -> ToolState:
        """The state with what was read, or with a failed call."""
        try:
            reading = chat_schema.Reading.model_validate_json(text)
        except ValidationError as error:
            raise InvalidOutputError(f"no reading: {error.errors()[0]['msg']}") from None
        found = reading.found and reading.answer.strip()
        return as_state(state).read(json.dumps(reading.answer.strip(), ensure_ascii=False) if found else None)

    def longest_project_request(self, state: State, action: Action) -> Request | None:
        """A reading of the longest text that is shown."""
        del state
        planned = parse(action)
        if planned.kind == ANSWER or not self._domain.toolbox.find(planned).reads:
            return None
        return self._reading(planned.symbol, filler(LONGEST_QUESTION), filler(LONGEST_TEXT))

    def answer_request(self, state: ToolState) -> Request:
        """Ask for the answer."""
        ask = 'No more calls can be made. Answer as JSON: {"answer": ...}; "#K" stands for a result.'
        return Request(self._messages(state, ask), ANSWER_TOKENS, constraint=JsonSchema(chat_schema.FinalAnswer))

    def longest_answer_request(self) -> Request:
        """With :data:`tape.tools.prompts.chat_schema.MOST_CALLS` results as long as they are shown, and an error."""
        one = Obtained(call("x", value=filler(200)), filler(LONGEST_RESULT))
        return self.answer_request(ToolState((one,) * chat_schema.MOST_CALLS, note=filler(LONGEST_NOTE)))

    def read_answer(self, state: ToolState, text: str) -> Call:
        """The answer as a call."""
        del state
        try:
            return answer(chat_schema.FinalAnswer.model_validate_json(text).answer)
        except ValidationError as error:
            raise InvalidOutputError(f"no answer: {error.errors()[0]['msg']}") from None


def _readable(text: str) -> list[Call]:
    """The calls at the beginning of a malformed plan."""
    decoder = json.JSONDecoder()
    calls: list[Call] = []
    at = text.find("[")
    while 0 <= at < len(text) and len(calls) < chat_schema.MOST_CALLS:
        at = text.find("{", at)
        if at < 0:
            break
        try:
            item, at = decoder.raw_decode(text, at)
            calls.append(from_mapping(item["tool"], item["arguments"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            break
    return calls
