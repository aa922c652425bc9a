"""One request for programs, and what the next one says of what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from tape.plan.open import Open
from tape.plan.program import Program
from tape.plan.prompt import Done
from tape.plan.record import Run
from tape.plan.vocabulary import Vocabulary


@dataclass
class Asked:
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
    """

    done: tuple[Done, ...] = ()
    names: Mapping[str, Any] = field(default_factory=dict)
    since: int = 0
    allowed: Mapping[str, int] = field(default_factory=dict)
    must_answer: bool = False
    programs: list[Program] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)
    task: str = ""
    turn: int = 0

    def carried(self, run: Run, words: Vocabulary) -> tuple[tuple[Done, ...], dict[str, Any]]:
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


def lines_of(run: Run, words: Vocabulary) -> list[Done]:
    """The lines of a program with what came of them, and why it goes on no further."""
    program, unfolded = run.program, run.unfolded
    lines = [
        Done(f"{statement.text}  # not run yet", noted=True) if isinstance(value, Open) else Done(statement.text, value)
        for statement, value in zip(program.statements, unfolded.values, strict=False)
        if not statement.answers
    ]
    if (failure := unfolded.failure) is not None:
        text = next(one.text for one in program.statements if one.line == failure.line)
        lines.append(Done(text, failure=failure.why, tool=failure.tool, hint=failure.hint))
    elif program.stopped is not None:
        tool = next((tool for tool in words.tools if f"{tool}(" in program.stopped.text), "")
        lines.append(Done(program.stopped.text, failure=program.stopped.why, tool=tool))
    return lines
