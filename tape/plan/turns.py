"""What a model is asked that writes a program line by line, as in ReAct: a conversation of lines and their results."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from tape.lm.base import Message
from tape.plan.program import called
from tape.plan.prompt import Done, ask_program, untyped, why_failed
from tape.plan.reader import read
from tape.plan.shown import LONGEST_RESULT, answer_stub, literal
from tape.plan.unfold import NotMadeError, unfold
from tape.plan.vocabulary import ANSWER, Vocabulary

RULES = """Solve a task step by step. Each time write a comment that says what to do next, and one line of Python that
does it: a call, whose result you are then shown. Last write answer(...). No for, if, import. Call only the functions
above the task. Do all that it asks for, and nothing else."""
NEXT = "\nNext line, or {}"
"""Follows each result."""
CAME = "  # -> "
"""Stands between a line of an example and what it comes to."""

EXAMPLES = (
    (
        'def select(sql: str) -> dict: "First row of a SELECT over parcels(id, owner_id, city), '
        'owners(id, name, phone)."\ndef notify(phone: str, text: str): ...\n'
        "Task: Tell Ada Roth that her parcel is here.\nEnd with answer(phone: str)",
        "# Look up Ada Roth's phone.\n"
        "row = select(sql=\"SELECT phone FROM owners WHERE name = 'Ada Roth'\")"
        '  # -> {"phone": "555-0142"}\n'
        "# Write to it.\n"
        'notify(phone=row["phone"], text="Your parcel is here.")  # -> None\n'
        "# She was told.\n"
        'answer(phone=row["phone"])',
    ),
    (
        "Task: How many parcels went to Oslo?\nEnd with answer(n: int)",
        "# Count the parcels to Oslo.\n"
        "row = select(sql=\"SELECT COUNT(*) AS n FROM parcels WHERE city = 'Oslo'\")"
        '  # -> {"n": 4}\n'
        "# That is all that was asked.\n"
        'answer(n=row["n"])',
    ),
)
"""Tasks of another subject with their programs. The last has a tool that it does not ask for, and does not call it."""

UNTYPED = untyped(EXAMPLES)
"""The same where the answer has no type."""


def ask_line(
    task: str, words: Vocabulary, done: Sequence[Done] = (), *, left: str = "", last: str = "",
    examples: Sequence[tuple[str, str]] = (), longest: int = LONGEST_RESULT, instructions: str = "", earlier: str = "",
    first: str = "",
) -> tuple[Message, ...]:  # fmt: skip
    """Ask for the next line of a program.

    It takes what :func:`tape.plan.prompt.ask_program` takes; ``last`` stands behind the last result.
    """
    shown = [Message("system", f"{RULES}\n\n{instructions}" if instructions else RULES)]
    for question, program in examples or (EXAMPLES if words.answer else UNTYPED):
        asked = question.partition("End with ")[2] or answer_stub(words)
        shown += [Message("user", question), *_in_turns(program, NEXT.format(asked))]
    shown += ask_program(task, words, earlier=earlier, first=first)[-1:]
    following = NEXT.format(answer_stub(words))
    notes = [step.text for step in done if step.noted]
    for step in [step for step in done if not step.noted]:
        shown += [Message("assistant", step.text), Message("user", _came(step, words, longest) + following)]
    told = [shown.pop().content, *notes, last, f"(Budget left for calls: {left})" if left else ""]
    return (*shown, Message("user", "\n\n".join(filter(None, told))))


def _in_turns(program: str, following: str) -> list[Message]:
    """An example line by line, with what each line comes to: as it is written there, else as it can be computed."""
    turns, lines, begun = list[Message](), program.split("\n"), 0
    values = unfold(read(program, Vocabulary.of()), Vocabulary.of(), _unknown).names
    for node in ast.parse(program).body:
        name = node.targets[0].id if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) else ""
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            continue  # a literal goes with the line after it
        end = node.end_lineno or len(lines)
        text, _, came = "\n".join(lines[begun:end]).partition(CAME)
        turns.append(Message("assistant", text))
        if not (isinstance(node, ast.Expr) and called(node.value) == ANSWER):
            came = came or (literal(values[name]) if name in values else "...")
            turns.append(Message("user", _named(name, came) + following))
        begun = end
    return turns


def _unknown(*_: Any) -> Any:
    raise NotMadeError


def _named(name: str, came: str) -> str:
    return f"{name} = {came}" if name.isidentifier() else came


def _came(step: Done, words: Vocabulary, longest: int) -> str:
    """What a line came to, by the name that it gave it, or why it has failed."""
    if step.failure:
        return why_failed(step, words).removeprefix(f"This line failed:\n{step.text}\n")
    target, equals, _ = step.text.rpartition("\n")[2].partition(" = ")
    return _named(target if equals else "", literal(step.result, longest))
