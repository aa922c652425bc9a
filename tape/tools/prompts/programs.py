"""The ``chat`` prompt format: tools for general models, which write plans as programs (:mod:`tape.plan`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from tape.budget import in_units
from tape.errors import InvalidOutputError
from tape.lm.base import Grammar, Message, OneOf, Request
from tape.plan.grammar import gbnf
from tape.plan.open import Open, key_of, result, with_references
from tape.plan.program import Program
from tape.plan.prompt import Done, ask_program
from tape.plan.reader import read
from tape.plan.shown import LONGEST_RESULT, comment, literal
from tape.plan.turns import ask_line
from tape.plan.unfold import NotMadeError, PendingCall, Unfolded, unfold
from tape.plan.vocabulary import ASK, Vocabulary
from tape.protocols import Action, Plan, State
from tape.protocols.prompt_format import OfferedPath, number_request, offered_text, turns
from tape.tools.calls import ANSWER, Call, answer, call, given, parse, written
from tape.tools.domain import ToolDomain, as_state
from tape.tools.errors import InvalidCallError
from tape.tools.prompts.common import JUDGED_WRONG, READ, ToolFormat, read_text, reading_request
from tape.tools.results import LONGEST_NOTE, LONGEST_QUESTION, LONGEST_TEXT, cut, filler
from tape.tools.state import Obtained, ToolState
from tape.tools.words import names

PROGRAM_TOKENS, LINE_TOKENS, ANSWER_TOKENS = 256, 200, 200
EARLIER = 1_000
"""Added to the number of a result that is only predicted, to tell it from those of a program's own calls."""
OF_THE_MODEL = ("calls", "tokens")
"""What no call of a tool takes: a model that is told how many tokens are left may write that number into a program."""
_SCORES = {"right": 1.0, "wrong": JUDGED_WRONG}
LAST = "No more calls can be made. Write the one line {} from what is there."


class ProgramFormat(ToolFormat):
    """Chat messages for general models: rules, stubs and examples first, which all requests of a task share.

    The roles of agents without a solver name each tool, its variant included; a program for
    :meth:`program_request` names the kind, and the variant is chosen afterwards.

    Args:
        domain: The task and its tools.
        examples: Tasks and their programs, which come before the real one; by default two with other tools.
        read: Questions about texts and their answers, for tools whose results are read.
        longest: Characters of a result that are shown.
    """

    shows_lines = True

    def __init__(
        self,
        domain: ToolDomain,
        examples: Sequence[tuple[str, str]] = (),
        read: Sequence[tuple[str, str]] = READ,
        *,
        longest: int = LONGEST_RESULT,
    ) -> None:
        super().__init__(domain)
        self._examples, self._read, self._longest = examples, read, longest
        self.renew()

    def renew(self) -> None:
        """Read the tools again: others are there now."""
        self._named = names(self._domain.toolbox, each=True)
        self._name = {pair: name for name, pair in self._named.items()}
        self._domain.renew()

    def _each(self, capped: Collection[str] = ()) -> Vocabulary:
        """What may be called, every tool by its own name."""
        return self._domain.words(capped, each=True)

    # --- programs -------------------------------------------------------------------------------

    def program_request(self, done: Sequence[Done], remaining: Mapping[str, int], *, answer: bool = False) -> Request:
        """See :meth:`tape.protocols.prompt_format.PromptFormat.program_request`."""
        words = self._domain.words(remaining)
        last = LAST.format("answer(...)") if answer else ""
        prompt = self._prompt(words, done, {}, last)  # the solver keeps the budget: the same is asked at any cap
        constraint = Grammar(gbnf(words), required=False)
        return Request(prompt, PROGRAM_TOKENS, constraint=constraint, role="plan")

    def _prompt(
        self, words: Vocabulary, done: Sequence[Done], remaining: Mapping[str, int], last: str = "",
        ask: Callable[..., tuple[Message, ...]] = ask_program,
    ) -> tuple[Message, ...]:  # fmt: skip
        left = ", ".join(in_units(kind, count) for kind, count in remaining.items() if kind not in OF_THE_MODEL)
        task, briefing = self._domain.task, self._domain.briefing
        told = {"instructions": briefing.instructions, "earlier": briefing.earlier, "first": briefing.first}
        examples = self._examples or briefing.examples
        return ask(task, words, done, left=left, last=last, examples=examples, longest=self._longest, **told)

    def line_request(
        self, done: Sequence[Done], remaining: Mapping[str, int], plan: Sequence[Action], *, each: bool = True
    ) -> Request:
        """See :meth:`tape.protocols.prompt_format.PromptFormat.line_request`."""
        words = self._domain.words(remaining, each=each)
        hint = "A plan for what is left:\n" + "\n".join(plan) if plan else ""
        prompt = self._prompt(words, done, remaining, hint, ask_line)
        return Request(prompt, LINE_TOKENS, constraint=Grammar(gbnf(words, turn=True), required=False), role="act")

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """Ask for a program, or for the rest of one after what was done."""
        words = self._each(remaining)
        prompt = self._prompt(words, self.done(as_state(state)), remaining)
        return Request(prompt, PROGRAM_TOKENS, constraint=Grammar(gbnf(words), required=False), role="plan")

    def done(self, state: ToolState) -> list[Done]:
        """What was called so far for the task, as lines of a program, with what came of it."""
        lines, before = [], self._domain.calls_before
        for number, (made, came, why, hint) in enumerate(self._history(state)[before:], before + 1):
            values = made.values(state.values()) if self._can_be_given(made, state) else {}
            arguments = ", ".join(f"{name}={literal(value)}" for name, value in values.items())
            name = self._name.get((made.kind, made.variant), made.kind)
            target = "" if why else f"r{number} = "
            lines.append(Done(f"{target}{name}({arguments})", came, why, name if why else "", hint))
        if state.note and not any(failure.why == state.note for failure in state.failures):
            lines.append(Done(f"# {comment(state.note)}", noted=True))
        return lines

    @staticmethod
    def _can_be_given(made: Call, state: ToolState) -> bool:
        return all(number <= len(state.got) for number in made.references)

    def _history(self, state: ToolState) -> list[tuple[Call, Any, str, str]]:
        """Calls in order: their result, or why they failed or were refused and what may help."""
        results = [
            filler(self._longest) if obtained.value is None else json.loads(obtained.value) for obtained in state.got
        ]
        history: list[tuple[Call, Any, str, str]] = []
        for number in range(len(state.got) + 1):
            history += [
                (failure.call, None, failure.why or "failed", failure.hint)
                for failure in state.failures
                if failure.after == number
            ]
            if number < len(state.got):
                history.append((state.got[number].call, results[number], "", ""))
        return history + [(item, None, "it was refused; do without it", "") for item in state.refused]

    def _unfolded(self, state: ToolState, text: str, *, known: bool = True) -> tuple[Program, Unfolded]:
        """A program over what was called so far, and what it does next; ``known`` results are not asked for again."""
        history = self._history(state)
        obtained = iter(enumerate(state.got, 1))
        defined: dict[str, Any] = {}
        for number, (_, came, why, _) in enumerate(history, 1):
            if not why:
                count, outcome = next(obtained)
                predicted = outcome.value is None
                defined[f"r{number}"] = result(EARLIER + count, f"#{count}") if predicted else came
        program = read(text, self._each(), defined)
        return program, unfold(program, self._each(), self._resolve(state, known=known), defined)

    def _resolve(self, state: ToolState, *, known: bool) -> Any:
        """Results of pure calls that nothing has changed since; of those that failed, the failure."""
        got = state.values()
        found_out = {}
        for obtained, value in [*zip(state.got, got, strict=True)][self._domain.outdated(state) :]:
            if self._domain.toolbox.is_pure(obtained.call) and value is not None:
                found_out[obtained.call.kind, obtained.call.variant, key_of(obtained.call.values(got))] = value

        def resolve(name: str, arguments: Mapping[str, Any]) -> Any:
            if not known:
                raise NotMadeError
            kind, variant = self._named.get(name, (name, ""))
            try:
                return found_out[kind, variant or "", key_of(dict(arguments))]
            except KeyError:
                raise NotMadeError from None

        return resolve

    def read_plan(self, state: State, text: str) -> Plan:
        """The calls of a program and its answer; of one that was not understood what is pure at its beginning."""
        here = as_state(state)
        program, run = self._unfolded(here, text)
        stopped = program.stopped is not None or run.failure is not None
        actions, whole = self._actions(here, run, partial=stopped)
        return Plan(tuple(actions), whole and not stopped and bool(actions))

    def _actions(self, state: ToolState, run: Unfolded, *, partial: bool) -> tuple[list[Action], bool]:
        """The calls in order, each pure one once as long as nothing changes between, and the answer.

        Returns:
            The actions, and whether all that is sure could be written.
        """
        first = len(state.got) + 1
        numbers: list[int] = []
        actions: list[Action] = []
        seen: dict[str, int] = {}
        for planned in run.calls:
            item = self._domain.toolbox.of_kind(self._named.get(planned.name, (planned.name, ""))[0])[0]
            if not planned.sure or (partial and not item.pure):
                return actions, True
            same = f"{item.kind}{planned.text.removeprefix(planned.name)}"  # by whichever variant
            if item.pure and same in seen:
                numbers.append(seen[same])
                continue
            made = self._call(planned, numbers, state.values())
            if made is None or len(actions) >= self._domain.longest_plan:
                return actions, made is not None
            seen = {**seen, same: first + len(actions)} if item.pure else {}
            numbers.append(first + len(actions))
            actions.append(made.text)
        if (
            run.answer is not None
            and not partial
            and (given := self._answer(run.answer.value, numbers, state.values())) is not None
        ):
            actions.append(given)
        return actions, True

    def _call(self, planned: PendingCall, numbers: Sequence[int], results: Sequence[Any]) -> Call | None:
        """A call as an action; None where it cannot be written as one."""
        kind, variant = self._named.get(planned.name, (planned.name, ""))
        args = tuple((name, self._written(value, numbers, results)) for name, value in planned.arguments.items())
        return _readable(Call(kind, variant or "", args))

    @staticmethod
    def _written(value: Any, numbers: Sequence[int], results: Sequence[Any]) -> str:
        try:
            if not isinstance(value, Open):
                return given(value, results)
            return with_references(value, lambda k: k - EARLIER if k > EARLIER else numbers[k])
        except (InvalidCallError, IndexError):
            return ""

    def _answer(self, value: Any, numbers: Sequence[int], results: Sequence[Any]) -> Action | None:
        if isinstance(value, dict) and any(isinstance(part, Open) for part in value.values()):
            parts = (f"{json.dumps(name)}: {self._written(part, numbers, results)}" for name, part in value.items())
            text = f"{{{', '.join(parts)}}}"
        else:
            text = self._written(value, numbers, results)
        made = _readable(Call(ANSWER, "", (("value", text),)))
        return None if made is None else made.text

    # --- other roles ------------------------------------------------------------------------------

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """Ask whether the calls answer the task."""
        here = as_state(state)
        since = self._domain.since
        calls = [f"#{number} = {obtained.call.symbol}" for number, obtained in enumerate(here.got[since:], since + 1)]
        done = "\n".join(calls)
        ask = (
            f"These calls were planned:\n{done or 'none'}\nand the answer {here.answer}. "
            "If every result is right, is that the answer to the task? Answer right or wrong."
        )
        if here.data:
            shown = "\n".join(f"{line.text}  # -> {literal(line.result)}" for line in self.done(here))
            ask = (
                f"The calls were made on a copy, and came to this:\n{shown}\nand the answer {here.answer}. "
                "If they are made for good, is that what the task asks for? Answer right or wrong."
            )
        prompt = turns("You judge plans.", (), f"Task: {self._domain.task}\n\n{ask}")
        return Request(prompt, 3, constraint=OneOf(tuple(_SCORES)), role="score"), _SCORES

    def ask(self, state: State, question: str) -> tuple[Message, ...]:
        """What is known of a state, then a question of the engine's own."""
        return self._prompt(self._each(), self.done(as_state(state)), {}, question)

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """Ask for the next line; where the action is fixed, for the action itself."""
        done = self.done(as_state(state))
        if action is None:
            return self.line_request(done, remaining, plan)
        hint = "A plan for what is left:\n" + "\n".join(plan) + "\n\n" if plan else ""
        prompt = self._prompt(self._each(remaining), done, remaining, f"{hint}Write {action}")
        return Request(prompt, LINE_TOKENS, constraint=OneOf((action,)), role="act")

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The comment, and the first call or the answer."""
        here = as_state(state)
        if (fixed := self._action(text.strip())) is not None:
            return "", fixed
        program, run = self._unfolded(here, text)
        if not run.calls and run.answer is None and run.failure is None:
            program, run = self._unfolded(here, text, known=False)  # a call that is refused: its result is there
        why = run.failure.why if run.failure else program.stopped.why if program.stopped else "it makes no call"
        if run.calls and run.calls[0].ready and (made := self._call(run.calls[0], (), here.values())) is not None:
            return program.comment, made.text
        if (
            run.answer is not None
            and run.answer.ready
            and (given := self._answer(run.answer.value, (), here.values())) is not None
        ):
            return program.comment, given
        raise InvalidOutputError(f"no call: {why}")

    def _action(self, text: str) -> Action | None:
        """A text that is an action already, as one that is fixed; None of what else a model writes."""
        try:
            made = parse(text)
            if made.kind != ANSWER:
                self._domain.toolbox.find(made).require_names(made)
        except InvalidCallError:
            return None
        return made.text if made.kind != ANSWER or [name for name, _ in made.args] == ["value"] else None

    def select_request(self, state: State, paths: Sequence[OfferedPath], remaining: Mapping[str, int]) -> Request:
        """Ask for the number of the best plan."""
        offers = offered_text(paths, remaining)
        ask = f"Which of these plans solves the task best within the budget?\n{offers}\nAnswer with its number."
        return number_request(self._prompt(self._each(), self.done(as_state(state)), remaining, ask), paths)

    def project_request(self, state: State) -> Request | None:
        """Ask for what the last result says, where it is a text that has to be read."""
        here = as_state(state)
        obtained = here.unread()
        if obtained is None:
            return None
        values = obtained.call.values(here.values()[:-1])
        if obtained.call.kind == ASK:
            return reading_request(str(values["question"]), obtained.text, self._read, asks=True)
        parts = [f"{name}: {value}" if len(values) > 1 else str(value) for name, value in values.items()]
        return reading_request(cut(", ".join(parts), LONGEST_QUESTION), obtained.text, self._read, asks=False)

    def read_project(self, state: State, text: str) -> ToolState:
        """The state with what was read, or with a failed call."""
        here = as_state(state)
        obtained = here.unread()
        assert obtained is not None, "what is not asked for is not read"
        said = read_text(text, asks=obtained.call.kind == ASK)
        return here.read(json.dumps(said, ensure_ascii=False) if said else None)

    def longest_project_request(self, state: State, action: Action) -> Request | None:
        """A reading of the longest text that is shown."""
        del state
        planned = parse(action)
        if planned.kind == ANSWER or not self._domain.toolbox.find(planned).reads:
            return None
        asks = planned.kind == ASK
        return reading_request(filler(LONGEST_QUESTION), filler(LONGEST_TEXT), self._read, asks=asks)

    def answer_request(self, state: ToolState) -> Request:
        """Ask for the answer."""
        prompt = self._prompt(self._each(), self.done(state), {}, LAST.format("answer(...)"))
        return Request(prompt, ANSWER_TOKENS, role="answer")

    def longest_answer_request(self) -> Request:
        """With the results of a longest plan, as long as they are shown, and an error."""
        obtained = Obtained(call("x", value=filler(200)), written(filler(self._longest)))
        return self.answer_request(ToolState((obtained,) * self._domain.longest_plan, note=filler(LONGEST_NOTE)))

    def read_answer(self, state: ToolState, text: str) -> Call:
        """The answer as a call."""
        _, run = self._unfolded(state, text)
        if run.answer is None or not run.answer.ready:
            raise InvalidOutputError(f"no answer: {text[:80]!r}")
        return answer(run.answer.value)


def _readable(made: Call) -> Call | None:
    """A call whose text stands for it; None of one that cannot be read from its text."""
    try:
        return parse(made.text) if all(value for _, value in made.args) else None
    except InvalidCallError:
        return None
