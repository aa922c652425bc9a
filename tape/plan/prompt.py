"""What a model is asked: one message for a program, and one for the rest of it after something has happened.

A prompt begins with what all requests of a task share, so that servers need not read it again: rules, tools, examples,
then the task, then what has happened, and last what is left of the budget.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tape.lm.base import Message
from tape.plan.shown import LONGEST_RESULT, answer_stub, comment, literal, stub, stubs
from tape.plan.values import NO_LIST
from tape.plan.vocabulary import Vocabulary

MOST_LISTS = 3
"""Lists that are shown."""
NEAR = 0.75
"""How much alike two names have to be (``difflib``)."""
MOST_TEXT = 20_000
"""Characters of all texts that are looked at."""

_LIST = re.compile(r"[^\W\d]\w*\([^()]{1,500}\)")
_NAME = re.compile(r"[^\W\d]\w*")


def hint(failure: str, line: str, words: Vocabulary, lines: str = "", results: str = "") -> str:
    """What may help after a failure of a line, where the tool says nothing; empty for nothing [ours].

    A failure such as ``no such column: title`` is of little use to a model that took the column from the wrong place.
    Where a description, or a text that was found out, lists names in brackets (``books(id, title, year)``), the list
    that has the name, or the one nearest to it, is shown again; beside it the list that the line took it from.
    """
    tools = words.tools.values()
    if failure == NO_LIST:
        lists = [tool.name for tool in tools if tool.returns.startswith("list")]
        return f"a tool that gives a list is {' or '.join(lists)}" if lists else ""
    if texts := lists_with(failure, line, [*(tool.description for tool in tools), results]):
        return "; ".join(texts)
    looks = [
        tool.name for tool in tools if not tool.changes and not any(parameter.required for parameter in tool.parameters)
    ]
    new = [f"{name}()" for name in looks if f"{name}(" not in f"{lines}{line}"]
    return f"look first what there is: {' or '.join(new[:MOST_LISTS])}" if new else ""


def lists_with(failure: str, line: str, texts: Iterable[str]) -> list[str]:
    """The lists of names that have, or nearly have, a name of a failure that the failed line has too.

    Examples:
        >>> from tape.plan.prompt import lists_with
        >>> said = "Rows of books(id, title, year), loans(id, book_id, fine)."
        >>> lists_with("no such table: fines", "rows = query(sql='SELECT fine FROM fines')", [said])
        ['fines is not there, but loans(id, book_id, fine)']
        >>> lists_with("no such column: fine", "rows = query(sql='SELECT fine FROM books')", [said])
        ['books(id, title, year) has no fine, but loans(id, book_id, fine) has; use both']
    """
    own = set(_NAME.findall(line))
    wanted = [name for name in dict.fromkeys(_NAME.findall(failure)) if name in own and len(name) > 1]
    lists = {text: _NAME.findall(text) for text in _LIST.findall("\n".join(texts)[:MOST_TEXT])}
    result: list[str] = []
    for name in wanted:
        exact = [item for item, names in lists.items() if name in names]
        used = [item for item, names in lists.items() if names[0] in own]
        near = [item for item, names in lists.items() if difflib.get_close_matches(name, names, 1, NEAR)]
        if exact and used and not set(exact) & set(used):
            result += [f"{used[0]} has no {name}, but {item} has; use both" for item in exact]
        else:
            result += [
                f"{name} is in {item}" if exact else f"{name} is not there, but {item}" for item in exact or near
            ]
    return result[:MOST_LISTS]


RULES = """Solve a task by a short Python program: a comment that says how, one statement a line, last answer(...).
No for, if, import. Call only the functions above the task. Do all that it asks for, and nothing else."""

EXAMPLES = (
    (
        'def select(sql: str) -> dict: "First row of a SELECT over parcels(id, owner_id, city), '
        'owners(id, name, phone)."\ndef notify(phone: str, text: str): ...\n'
        "Task: How many parcels went to Oslo?\nEnd with answer(n: int)",
        "# Count the parcels to Oslo.\n"
        "row = select(sql=\"SELECT COUNT(*) AS n FROM parcels WHERE city = 'Oslo'\")\n"
        'answer(n=row["n"])',
    ),
    (
        "Task: Tell Ada Roth that her parcel is here.\nEnd with answer(phone: str)",
        "# Look up Ada Roth's phone and write to it.\n"
        "row = select(sql=\"SELECT phone FROM owners WHERE name = 'Ada Roth'\")\n"
        'notify(phone=row["phone"], text="Your parcel is here.")\n'
        'answer(phone=row["phone"])',
    ),
)
"""Tasks of another subject with their programs. The first has a tool that it does not ask for, and does not call it."""


def untyped(examples: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the examples, pairs of a task and its program, with an answer of no type."""
    return tuple(
        (
            question.replace("answer(n: int)", "answer(value: Any)").replace(
                "answer(phone: str)", "answer(value: Any)"
            ),
            program.replace("answer(n=", "answer(").replace(
                'answer(phone=row["phone"])', 'answer("Ada Roth was told.")'
            ),
        )
        for question, program in examples
    )


UNTYPED = untyped(EXAMPLES)
"""The same where the answer has no type; with typed ones beside it the model wrote ``answer(value)``."""

MOST_FAILED = 2
"""Lines that have failed that are shown, the last ones."""


@dataclass(frozen=True)
class Done:
    """A statement that was run.

    Attributes:
        text: As the model wrote it.
        result: Its value.
        failure: Why it has failed; empty where it has not.
        tool: The tool that has failed, which is shown again beside it.
        hint: What may help.
        noted: It has no result to show.
    """

    text: str
    result: Any = None
    failure: str = ""
    tool: str = ""
    hint: str = ""
    noted: bool = False


def ask_program(
    task: str,
    words: Vocabulary,
    done: Sequence[Done] = (),
    *,
    left: str = "",
    last: str = "",
    examples: Sequence[tuple[str, str]] = (),
    longest: int = LONGEST_RESULT,
    instructions: str = "",
    earlier: str = "",
    first: str = "",
) -> tuple[Message, ...]:
    """Ask for a program, or for the rest of one.

    Args:
        task: In words.
        words: What may be called.
        done: The statements that were run, with what came of them.
        left: What is left of the budget, in words; empty where nothing is capped.
        last: What is asked for instead of a program, or of the rest of one.
        examples: What is asked and answered before; by default of another subject.
        longest: Characters of a result that are shown.
        instructions: What the one who asks says about how to work; it follows the rules.
        earlier: The turns before of a conversation.
        first: The task that it began with.

    Returns:
        The messages: one of the system, the examples, and one of the user.
    """
    shown = [Message("system", f"{RULES}\n\n{instructions}" if instructions else RULES)]
    for question, program in examples or (EXAMPLES if words.answer else UNTYPED):
        shown += [Message("user", question), Message("assistant", program)]
    asked = f"Task: {task}\nEnd with {answer_stub(words)}"
    tools, further = stubs(words, first or task, task if earlier else "")
    asked = f"{further}\n{asked}" if further else asked
    parts = [tools, earlier, asked] if earlier else [f"{tools}\n{asked}"]
    worked = [step for step in done if not step.failure]
    if worked:
        parts.append("So far:\n" + "\n".join(_line(step, longest) for step in worked))
    failed = list({step.text: step for step in done if step.failure}.values())[-MOST_FAILED:]
    lines = "\n".join(step.text for step in worked)
    results = "\n".join(literal(step.result, longest) for step in worked)
    parts += [why_failed(step, words, lines, results) for step in failed]
    if worked and not last:
        parts.append("Write the rest of the program.")
    parts += [last] if last else []
    if left:
        parts.append(f"(Budget left for calls: {left})")
    return (*shown, Message("user", "\n\n".join(parts)))


def _line(step: Done, longest: int) -> str:
    """A statement with its result."""
    return step.text if step.noted else f"{step.text}  # -> {literal(step.result, longest)}"


def why_failed(step: Done, words: Vocabulary, lines_run: str = "", results: str = "") -> str:
    """A statement that has failed, and what helps."""
    lines = ["This line failed:", step.text, f"Why: {comment(step.failure)}"]
    made = ""
    if not step.hint and (step.tool or step.failure == NO_LIST):
        made = hint(step.failure, step.text, words, lines_run, results)
    if step.tool in words.tools and not made:
        lines.append(f"Tool: {stub(words.tools[step.tool])}")
    if helps := step.hint or made:
        lines.append(f"Hint: {comment(helps)}")
    return "\n".join(lines)
