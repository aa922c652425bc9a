"""What a model is asked: one message for a program, and one for the rest of it after something has happened.

A prompt begins with what all requests of a task share, so that servers need not read it again: rules, tools, examples,
then the task, then what has happened, and last what is left of the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tape.lm.base import Message
from tape.plan.shown import LONGEST_RESULT, comment, literal
from tape.plan.stubs import answer_stub, stub, stubs
from tape.plan.vocabulary import Vocabulary

RULES = """Solve the task by a short Python program: a comment that says how, then one statement a line
(name = expression, or a tool call), last answer(...). There are row["key"], rows[0], f-strings, comprehensions, len,
min, max, sum, round, str, int, float, sorted; no for or if statements, no imports. Only the listed tools can be called.
Do all that the task asks for, and nothing else.

Tools:
"""

EXAMPLES = (
    (
        "Tools: train(start, to), fare(number)\nTask: What do 3 tickets from Bern to Chur cost?\n"
        "End with answer(total: float)",
        "# Find the train and its fare, and take that three times.\n"
        'found = train(start="Bern", to="Chur")\n'
        'ticket = fare(number=found["number"])\n'
        "answer(total=3 * ticket)",
    ),
    (
        "Tools: select(sql), notify(to, text)\n"
        "Task: Write to the owner of the heaviest parcel in Oslo what it weighs, and say who that is.\n"
        "End with answer(owner: str)",
        "# Find the heaviest parcel, write to its owner, answer with the owner.\n"
        "row = select(sql=\"SELECT owner, kg FROM parcels WHERE city = 'Oslo' ORDER BY kg DESC LIMIT 1\")\n"
        'notify(to=row["owner"], text=f"It weighs {row[\'kg\']} kg.")\n'
        'answer(owner=row["owner"])',
    ),
)
"""Two tasks of other subjects with their programs."""

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
        noted: It is a comment alone.
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
    examples: Sequence[tuple[str, str]] = EXAMPLES,
    longest: int = LONGEST_RESULT,
) -> tuple[Message, ...]:
    """Ask for a program, or for the rest of one.

    Args:
        task: In words.
        words: What may be called.
        done: The statements that were run, with what came of them.
        left: What is left of the budget, in words; empty where nothing is capped.
        last: What is asked for instead of a program, or of the rest of one.
        examples: What is asked and answered before.
        longest: Characters of a result that are shown.

    Returns:
        The messages: one of the system, the examples, and one of the user.
    """
    shown = [Message("system", RULES + stubs(words))]
    for question, program in examples:
        shown += [Message("user", question), Message("assistant", program)]
    tools = ", ".join(
        f"{name}({', '.join(each.name for each in tool.parameters)})" for name, tool in words.tools.items()
    )
    parts = [f"Tools: {tools}\nTask: {task}\nEnd with {answer_stub(words)}"]
    worked = [step for step in done if not step.failure]
    if worked:
        parts.append("So far:\n" + "\n".join(_line(step, longest) for step in worked))
    failed = list({step.text: step for step in done if step.failure}.values())[-MOST_FAILED:]
    parts += [_failed(step, words) for step in failed]
    if done and not last:
        again = "; the line that failed is not to be repeated" if failed else ""
        parts.append(f"Write the rest of the program{again}.")
    parts += [last] if last else []
    if left:
        parts.append(f"(Budget left for calls: {left})")
    return (*shown, Message("user", "\n\n".join(parts)))


def _line(step: Done, longest: int) -> str:
    """A statement with its result."""
    return step.text if step.noted else f"{step.text}  # -> {literal(step.result, longest)}"


def _failed(step: Done, words: Vocabulary) -> str:
    """A statement that has failed, and what helps."""
    lines = ["This line failed:", step.text, f"Why: {comment(step.failure)}"]
    if step.tool in words.tools:
        lines.append(f"Tool: {stub(words.tools[step.tool])}")
    if step.hint:
        lines.append(f"Hint: {comment(step.hint)}")
    return "\n".join(lines)
