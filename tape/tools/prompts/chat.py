"""The ``chat`` prompt format: tools for general instruction-tuned models, instructions plus a JSON schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property

from pydantic import BaseModel, ValidationError

from tape.budget import in_units
from tape.lm.base import Choice, JsonSchema, Message, Request
from tape.protocols import Action, Plan, State
from tape.protocols.prompt_format import Examples, OfferedPath, number_request, offered_text, turns
from tape.reading import parsed
from tape.tools.calls import ANSWER, Call, answer, call, from_mapping, parse
from tape.tools.domain import LONGEST_PLAN, ToolDomain, as_state, describe
from tape.tools.errors import InvalidCallError
from tape.tools.prompts import chat_schema
from tape.tools.prompts.chat_text import DEFAULT, READING, listed, reading_question
from tape.tools.prompts.common import JUDGED_WRONG, ToolFormat
from tape.tools.results import LONGEST_NOTE, LONGEST_QUESTION, LONGEST_RESULT, LONGEST_TEXT, cut, filler
from tape.tools.state import Obtained, ToolState

RULES = """You solve a task by calling tools. The result of the first successful call is #1, of the second #2, and so
on. In the arguments of a later call, or inside a text argument, and as the answer, write #1 or #2 in place of the
result; of a long result you are shown the beginning only, its number stands for all of it. Every call costs what is
listed; a call that does not fit into what is left of the budget is not made. The last thing to do is to answer; there
is only one answer."""

CHANGES = """Calls are made in the order in which you list them, each as often as you list it; what stands under
"So far" has been done already. Only a call of a tool marked read-only is not made again while nothing has been changed.
A call that failed can be made again once another call has changed something."""
"""Further rules where some of the tools are not pure."""

TYPED = """The answer is JSON of this schema: {}
In place of the answer, or of a value in it, #1 or #2 stands for that result."""
"""Of an answer whose type is declared."""

PLAN_TOKENS, ACT_TOKENS, ANSWER_TOKENS, READ_TOKENS = 1200, 400, 100, 200
_SCORES = {"right": 1.0, "wrong": JUDGED_WRONG}


class ChatToolFormat(ToolFormat):
    """Chat messages for general models.

    Tools and rules are the system's turn, which all tasks with these tools share.

    Args:
        domain: The task and its tools.
        examples: What is asked and answered before the real question, by role: ``plan``, ``act``, ``fixed``, ``score``,
            ``select``, ``read`` and ``answer``; by default, examples with other tools.
        longest: Characters of an argument that is a text.
    """

    def __init__(
        self, domain: ToolDomain, examples: Examples = DEFAULT, longest: int = chat_schema.LONGEST_ARGUMENT
    ) -> None:
        super().__init__(domain)
        self._examples, self._longest = examples, longest
        self.renew()

    def renew(self) -> None:
        """Read the tools again: others are there now."""
        for name in ("_plan", "_first_plan", "_act", "_final"):
            self.__dict__.pop(name, None)
        domain = self._domain
        pure = all(item.pure for item in domain.toolbox.all())
        typed = [] if domain.answer is None else [TYPED.format(json.dumps(domain.answer.schema, ensure_ascii=False))]
        self._rules = "\n".join([RULES, *typed, *([] if pure else [CHANGES]), listed(domain.toolbox)])

    @cached_property
    def _plan(self) -> type[BaseModel]:
        return self._plan_of(0)

    @cached_property
    def _first_plan(self) -> type[BaseModel]:
        """Before anything is obtained: one call at least."""
        return self._plan_of(1)

    def _plan_of(self, least: int) -> type[BaseModel]:
        here = self._domain
        return chat_schema.plan_model(here.toolbox, self._longest, least, here.longest_plan, here.answer)

    @cached_property
    def _act(self) -> type[BaseModel]:
        return chat_schema.act_model(self._domain.toolbox, self._longest, self._domain.answer)

    @cached_property
    def _final(self) -> type[BaseModel]:
        return chat_schema.final_model(self._domain.answer)

    def _messages(
        self, state: ToolState, ask: str, role: str = "", remaining: Mapping[str, int] | None = None
    ) -> tuple[Message, ...]:
        left = ", ".join(in_units(kind, count) for kind, count in (remaining or {}).items())
        # Predicted results come up in worst cases only, so they are as long as any that is shown.
        done = describe(state, unknown=filler(LONGEST_RESULT))
        parts = [f"Task: {self._domain.task}", f"So far:\n{done}"]
        parts += [f"Left of the budget: {left}"] if left else []
        return turns(self._rules, self._examples.get(role, ()), "\n\n".join([*parts, ask]))

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for a thought, the calls that are still to be made, and the answer."""
        here = as_state(state)
        ask = (
            "Say in a sentence how the task is solved, then list the calls that are still to be made, within the "
            f"budget, and the answer. The next result will be #{len(here.got) + 1}."
        )
        schema = JsonSchema(self._plan if here.got else self._first_plan)
        tokens = max(PLAN_TOKENS, PLAN_TOKENS * self._domain.longest_plan // LONGEST_PLAN)
        return Request(self._messages(here, ask, "plan", remaining), tokens, constraint=schema, role="plan")

    def read_plan(self, state: State, text: str) -> Plan:
        """The calls and the answer; of a malformed plan what can be read of its beginning."""
        try:
            self._plan.model_validate_json(text)
            data = chat_schema.json_object(text)  # as it is written: a type would make 1.0 of 1
            calls = [from_mapping(item["tool"], item["arguments"]) for item in data["calls"]]
            calls.append(answer(data["answer"]))
        except (ValidationError, InvalidCallError):
            return self.plan_of(state, _readable(text, self._domain.longest_plan), valid=False)
        return self.plan_of(state, calls, valid=True)

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Ask whether the calls answer the task; a right answer has the quality of the results behind it."""
        here = as_state(state)
        done = "\n".join(f"#{number} = {found.call.symbol}" for number, found in enumerate(here.got, 1))
        ask = (
            f"These calls were planned:\n{done or 'none'}\nand the answer {here.answer}. "
            "If every result is exact, is that the answer to the task? Answer right or wrong."
        )
        if here.data:
            ask = (
                f"The calls were made on a copy, and came to this:\n{describe(here)}\n"
                "If they are made for good, is that what the task asks for? Answer right or wrong."
            )
        values = {option: value * self._domain.quality(state) for option, value in _SCORES.items()}
        asked = f"Task: {self._domain.task}\n\n{ask}"
        prompt = turns(self._rules, self._examples.get("score", ()), asked)
        return Request(prompt, 3, constraint=Choice(tuple(_SCORES)), role="score"), values

    def ask(self, state: State, question: str) -> tuple[Message, ...]:
        """What is known of a state, then a question of the engine's own."""
        return self._messages(as_state(state), question)

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for a thought and one call, or the answer."""
        hint = "A plan for what is left:\n" + "\n".join(plan) + "\n\n" if plan else ""
        if action is None:
            ask = (
                f'{hint}Think in one sentence, then make the next call; the tool "{ANSWER}" ends the task with a value.'
            )
            role, schema = "act", self._act
        else:
            ask = f"{hint}The next action is {action}.\nSay in one sentence what it is for, then repeat it."
            role, schema = "fixed", chat_schema.fixed_model(action)
        prompt = self._messages(as_state(state), ask, role, remaining)
        return Request(prompt, ACT_TOKENS, constraint=JsonSchema(schema), role="act")

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The thought and the action."""
        del state
        data = chat_schema.json_object(text)
        if isinstance(data.get("action"), str):
            return str(data.get("thought", "")), parse(data["action"]).text
        parsed(self._act, text, "no call")
        return data["thought"], from_mapping(data["call"]["tool"], data["call"]["arguments"]).text

    def select_request(self, state: State, paths: Sequence[OfferedPath], remaining: Mapping[str, int]) -> Request:
        """Ask for the number of the best plan."""
        offers = offered_text(paths, remaining)
        ask = f"Which of these plans solves the task best within the budget?\n{offers}\nAnswer with its number."
        return number_request(self._messages(as_state(state), ask, "select", remaining), paths)

    def project_request(self, state: State) -> Request | None:
        """Ask for what the last result says, where it is a text that has to be read."""
        found = as_state(state).unread()
        return None if found is None else self._reading(self._question(as_state(state), found), found.text)

    def _reading(self, question: str, text: str) -> Request:
        prompt = turns(READING, self._examples.get("read", ()), reading_question(question, cut(text, LONGEST_TEXT)))
        return Request(prompt, READ_TOKENS, constraint=JsonSchema(chat_schema.Reading), role="project")

    @staticmethod
    def _question(state: ToolState, found: Obtained) -> str:
        """What was asked for: the value of the only argument, or all with their names."""
        values = found.call.values(state.values()[:-1])
        parts = [f"{name}: {value}" if len(values) > 1 else str(value) for name, value in values.items()]
        return cut(", ".join(parts), LONGEST_QUESTION)

    def read_project(self, state: State, text: str) -> ToolState:
        """The state with what was read, or with a failed call."""
        found = parsed(chat_schema.Reading, text, "no reading").answer.strip()
        return as_state(state).read(json.dumps(found, ensure_ascii=False) if found else None)

    def longest_project_request(self, state: State, action: Action) -> Request | None:
        """A reading of the longest text that is shown."""
        del state
        planned = parse(action)
        if planned.kind == ANSWER or not self._domain.toolbox.find(planned).reads:
            return None
        return self._reading(filler(LONGEST_QUESTION), filler(LONGEST_TEXT))

    def answer_request(self, state: ToolState) -> Request:
        """Ask for the answer."""
        ask = "No more calls can be made. Give the answer: a value, or the number of a result, such as #1."
        prompt = self._messages(state, ask, "answer")
        tokens = ANSWER_TOKENS if self._domain.answer is None else ACT_TOKENS
        return Request(prompt, tokens, constraint=JsonSchema(self._final), role="answer")

    def longest_answer_request(self) -> Request:
        """With the results of a longest plan, as long as they are shown, and an error."""
        one = Obtained(call("x", value=filler(200)), filler(LONGEST_RESULT))
        return self.answer_request(ToolState((one,) * self._domain.longest_plan, note=filler(LONGEST_NOTE)))

    def read_answer(self, state: ToolState, text: str) -> Call:
        """The answer as a call."""
        del state
        return answer(getattr(parsed(self._final, text, "no answer"), ANSWER))


def _readable(text: str, most: int) -> list[Call]:
    """The calls at the beginning of a malformed plan, so many at most."""
    decoder = json.JSONDecoder()
    calls: list[Call] = []
    at = text.find("[")
    while 0 <= at < len(text) and len(calls) < most:
        at = text.find("{", at)
        if at < 0:
            break
        try:
            item, at = decoder.raw_decode(text, at)
            calls.append(from_mapping(item["tool"], item["arguments"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            break
    return calls
