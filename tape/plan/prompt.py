"""What a model is asked: one message for a program, and one for the rest of it after something has happened.

A prompt begins with what all requests of a task share, so that servers need not read it again: rules, tools, examples,
then the task, then what has happened, and last what is left of the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tape.lm.base import Message
from tape.plan.hints import hint
from tape.plan.shown import LONGEST_RESULT, comment, literal
from tape.plan.stubs import answer_stub, stub, stubs
from tape.plan.values import NO_LIST
from tape.plan.vocabulary import Vocabulary

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

UNTYPED = tuple(
    (
        question.replace("answer(n: int)", "answer(value: Any)").replace("answer(phone: str)", "answer(value: Any)"),
        program.replace("answer(n=", "answer(").replace('answer(phone=row["phone"])', 'answer("Ada Roth was told.")'),
    )
    for question, program in EXAMPLES
)
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

    Returns:
        The messages: one of the system, the examples, and one of the user.
    """
    shown = [Message("system", f"{RULES}\n\n{instructions}" if instructions else RULES)]
    for question, program in examples or (EXAMPLES if words.answer else UNTYPED):
        shown += [Message("user", question), Message("assistant", program)]
    asked = f"Task: {task}\nEnd with {answer_stub(words)}"
    parts = [stubs(words, task), earlier, asked] if earlier else [f"{stubs(words, task)}\n{asked}"]
    worked = [step for step in done if not step.failure]
    if worked:
        parts.append("So far:\n" + "\n".join(_line(step, longest) for step in worked))
    failed = list({step.text: step for step in done if step.failure}.values())[-MOST_FAILED:]
    lines = "\n".join(step.text for step in worked)
    results = "\n".join(literal(step.result, longest) for step in worked)
    parts += [_failed(step, words, lines, results) for step in failed]
    if worked and not last:
        parts.append("Write the rest of the program.")
    parts += [last] if last else []
    if left:
        parts.append(f"(Budget left for calls: {left})")
    return (*shown, Message("user", "\n\n".join(parts)))


def _line(step: Done, longest: int) -> str:
    """A statement with its result."""
    return step.text if step.noted else f"{step.text}  # -> {literal(step.result, longest)}"


def _failed(step: Done, words: Vocabulary, lines_run: str, results: str) -> str:
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
