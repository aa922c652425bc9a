"""One request for programs, and what the next one says of what came of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from tape.plan.agreement import FEWEST, MOST, Agreement, computes
from tape.plan.open import Open
from tape.plan.program import Program, called, names_read, tools_called
from tape.plan.prompt import Done
from tape.plan.record import CallRecord, FollowedProgram, follow
from tape.plan.unfold import LineFailure, PendingCall
from tape.plan.vocabulary import Vocabulary

logger = logging.getLogger("tape.agents")

FOUND_NOTHING = "it has found nothing"
"""What the model reads of a search without a result that a later line needs."""
DISPUTED = "it was not run: programs that were written for the task differ in what is given here"
"""What the model reads of a call that most samples make, each with other arguments."""


@dataclass
class ProgramRequest:
    """One request for programs.

    Attributes:
        done: The lines before.
        names: Their values.
        since: Calls that had been made.
        allowed: How often an effect may be made in all.
        must_answer: It has to answer.
        programs: What was sampled.
        left_out: Statements that were not run, since too few samples have them.
        task: What was to be done then.
        turn: Calls that had been made when that was first asked for.
        mends: It goes on after a failure.
        short: Not as many samples as usual fit.
    """

    done: tuple[Done, ...] = ()
    names: Mapping[str, Any] = field(default_factory=dict)
    since: int = 0
    allowed: Mapping[str, int] = field(default_factory=dict)
    must_answer: bool = False
    programs: list[Program] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    task: str = ""
    turn: int = 0
    mends: bool = False
    short: bool = False

    def followed(self, record: CallRecord) -> list[FollowedProgram]:
        """The programs as far as what was called reaches; a search that finds nothing is spelled as the task does."""
        known: dict[int, FollowedProgram] = {}
        for program in self.programs:
            if id(program) not in known:  # samples that are written alike
                known[id(program)] = follow(record, program, self.task)
        runs = [known[id(program)] for program in self.programs]
        if any(run.program is not program for run, program in zip(runs, self.programs, strict=True)):
            logger.info("a search has found nothing; it is made again as the task is spelled")
            self.programs = [run.program for run in runs]
        return runs

    def carried(self, run: FollowedProgram, words: Vocabulary) -> tuple[tuple[Done, ...], dict[str, Any]]:
        """What the next request goes on from: the lines with what came of them, and the values of names.

        A line that the program has again is not repeated. A name that it gives another value keeps the earlier one
        under a number, ``row_1``; a line that could not be evaluated then is of no more use now.
        """
        own, names = lines_of(run, words), dict(run.unfolded.known)
        texts = {line.text for line in own}
        earlier = [line for line in self.done if line.text not in texts and (line.tool or not line.failure)]
        for name, value in self.names.items():
            if name in names and names[name] is not value and names[name] != value:
                number = next(n for n in count(1) if f"{name}_{n}" not in names)
                names[f"{name}_{number}"] = value
                start = f"{name} = "
                earlier = [
                    replace(line, text=f"{name}_{number} = {line.text.removeprefix(start)}")
                    if line.text.startswith(start)
                    else line
                    for line in earlier
                ]
        return (*earlier, *own), names


def lines_of(run: FollowedProgram, words: Vocabulary) -> list[Done]:
    """The lines of a program with what came of them, and why it goes on no further."""
    program, unfolded = run.program, run.unfolded
    at_fault = next(
        (item for item in program.statements if unfolded.failure and item.line == unfolded.failure.line), None
    )
    empty = [item for item in run.empty if at_fault and item.target in names_read(at_fault.value)]
    searches = [item for item in empty if {*map(words.changes, tools_called(item.value, words))} == {False}]
    lines = [
        Done(statement.text, value)
        for statement, value in zip(program.statements, unfolded.values, strict=False)
        if not isinstance(value, Open) and not statement.answers and statement not in searches
    ]
    if searches:
        lines += [
            Done(search.text, failure=FOUND_NOTHING, tool=next(tools_called(search.value, words)))
            for search in searches
        ]
    elif (failure := unfolded.failure) is not None and at_fault is not None:
        lines.append(Done(at_fault.text, failure=failure.why, tool=failure.tool, hint=failure.hint))
    elif program.stopped is not None:
        tool = next((tool for tool in words.tools if f"{tool}(" in program.stopped.text), "")
        lines.append(Done(program.stopped.text, failure=program.stopped.why, tool=tool))
    return lines


def furthest(runs: Sequence[FollowedProgram]) -> FollowedProgram:
    """The run that has come furthest of those that have done all that was done for good."""
    return max(runs, key=lambda run: (run.compatible, run.done, len(run.unfolded.made)))


def wanted(
    runs: Sequence[FollowedProgram],
    leader: FollowedProgram,
    words: Vocabulary,
    usual: int,
    is_dear: Callable[[PendingCall], bool],
) -> int:
    """How many samples there should be before the next call: soon all, as a prompt is longer than a program."""
    count, agreement = len(runs), Agreement(runs)
    planned = leader.unfolded.calls
    effect = bool(planned) and words.changes(planned[0].name)
    if effect and len(agreement.readable) < FEWEST:
        return min(MOST, count + FEWEST - len(agreement.readable))
    ends = leader.unfolded.answer is not None and not planned
    answers = ends and (computes(leader) or leader.empty)
    priced = bool(words.operators) or (bool(planned) and is_dear(planned[0]))
    if not (effect or answers or priced) or usual == 1:
        return count
    if count < FEWEST and effect:
        return min(FEWEST, usual)
    return count if count >= FEWEST and agreement.decided(usual) else max(count, usual)


def agreed(runs: Sequence[FollowedProgram], record: CallRecord) -> tuple[list[FollowedProgram], list[str]]:
    """Runs without the effects that too few of them have.

    Returns:
        The runs, and the statements that were left out. Where most programs call a tool that changes something, and
        differ in what they give it, a run fails there.
    """
    agreement = Agreement(runs)
    kept, texts = [], dict[str, None]()
    for run in runs:
        without, dropped = record.left_out(run, lambda effect, times: not agreement.supports(effect, times))
        texts |= dict.fromkeys(statement.text for statement in dropped)
        disputed = next((statement for statement in dropped if agreement.wants(called(statement.value))), None)
        if disputed is not None:
            failure = LineFailure(disputed.line, DISPUTED, called(disputed.value))
            program = replace(without.program, statements=(*without.program.statements, disputed))
            without = replace(without, program=program, unfolded=replace(without.unfolded, failure=failure))
        kept.append(without)
    return kept, [*texts]
