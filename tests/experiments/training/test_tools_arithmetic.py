from __future__ import annotations

import random

from envs.gsm_hard.arithmetic import is_right, results
from envs.gsm_hard.generator import draw
from envs.gsm_hard.problem import Step
from envs.gsm_hard.words import argument_value, delexicalise
from experiments.training.tools.arithmetic import example
from experiments.training.tools.example import Example


def split_calls(tokens: list[str]) -> list[list[str]]:
    """Calls between semicolons."""
    return [part.split() for part in " ".join(tokens).split(" ; ")] if tokens else []


def state(made: Example) -> tuple[list[str], list[list[str]], list[list[str]]]:
    """Text, calls made and calls failed."""
    assert made.prefix[0] == "text:"
    got, failed = made.prefix.index("got:"), made.prefix.index("failed:")
    parts = made.prefix[got + 1 : failed], made.prefix[failed + 1 :]
    assert all(not part or part[-1] == ";" for part in parts)
    return made.prefix[1:got], *(split_calls(part[:-1]) for part in parts)  # type: ignore[return-value]


def test_plans_lead_to_the_answer_and_are_of_training_problems() -> None:
    checked = 0
    for number in range(600):
        # The first thing that is drawn is the problem, so the same seed gives it again.
        seed = f"gsm:test:plan:{number}"
        made = example(random.Random(seed))
        problem = draw(random.Random(seed), "train")
        words = delexicalise(problem.text)
        text, got, _ = state(made)
        assert tuple(text) == words.tokens
        for prompt, answer in made.queries:
            steps = [Step(kind, tuple(argument_value(arg, words) for arg in args)) for kind, *args in got]
            if prompt[0] == "<plan>":
                *calls, (_, last) = split_calls(answer)
                steps += [Step(kind, tuple(argument_value(arg, words) for arg in args)) for kind, _, *args in calls]
            elif prompt[0] == "<score>":
                last = prompt[2]
            else:
                continue
            right = is_right(results(steps)[int(last[1:]) - 1], problem.target)
            assert right == (answer != ["wrong"])
            checked += 1
    assert checked > 500
