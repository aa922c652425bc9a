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

RULES = """Solve the task by a short Python program. Begin with a comment that says how. Then write one statement a
line: name = tool(...), a tool call alone, or name = an expression; end with answer(...). Take parts of results by
row["key"] or rows[0]; f-strings, comprehensions and len, min, max, sum, round, str, int, float, sorted are there. No
loops, no if, no imports. Do nothing that the task does not ask for.

Tools:
"""

EXAMPLES = (
    (
        "(Here the tools are train(start: str, to: str) -> dict, price(train: str) -> float.)\n"
        "Task: What do 3 tickets from Bern to Chur cost?\nEnd with answer(total: float)",
        "# Find the train, look its price up, and take that three times.\n"
        'found = train(start="Bern", to="Chur")\n'
        'ticket = price(train=found["number"])\n'
        "answer(total=3 * ticket)",
    ),
    (
        "(Here the tools are parcels(city: str) -> list[dict], notify(to: str, text: str) -> None.)\n"
        "Task: Tell the owner of the heaviest parcel in Oslo how heavy it is, and say who that is.\n"
        "End with answer(owner: str)",
        "# List the parcels, take the heaviest, write to its owner.\n"
        'rows = parcels(city="Oslo")\n'
        'heaviest = max(row["kg"] for row in rows)\n'
        'first = [row for row in rows if row["kg"] == heaviest][0]\n'
        'notify(to=first["owner"], text=f"Your parcel weighs {first[\'kg\']} kg.")\n'
        'answer(owner=first["owner"])',
    ),
)
"""Two tasks of other subjects with their programs."""


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
    parts = [f"Task: {task}\nEnd with {answer_stub(words)}"]
    if done:
        parts.append("So far:\n" + "\n".join(_line(step, words, longest) for step in done))
        parts += [] if last else ["Write the rest of the program; what worked is not to be repeated."]
    parts += [last] if last else []
    if left:
        parts.append(f"Left: {left}")
    return (*shown, Message("user", "\n\n".join(parts)))


def _line(step: Done, words: Vocabulary, longest: int) -> str:
    """A statement with its result, or with its failure and what helps."""
    if step.noted:
        return step.text
    if not step.failure:
        return f"{step.text}  # -> {literal(step.result, longest)}"
    lines = [f"{step.text}  # failed: {comment(step.failure)}"]
    if step.tool in words.tools:
        lines.append(f"#   {stub(words.tools[step.tool])}")
    if step.hint:
        lines.append(f"#   hint: {comment(step.hint)}")
    return "\n".join(lines)
