from __future__ import annotations

import random
from collections import Counter

from envs.gsm_hard.arithmetic import ARITY, KINDS, is_right, results
from envs.gsm_hard.errors import ArithmeticToolError
from envs.gsm_hard.generator import draw
from envs.gsm_hard.problem import Step
from envs.gsm_hard.profiles import PROFILES
from envs.gsm_hard.words import argument_value, delexicalise
from experiments.training.tools.arithmetic import calls_of, example, vocabulary
from experiments.training.tools.example import Example
from experiments.training.tools.mistakes import detour, mistaken, wrong_call

EXAMPLES = [example(random.Random(f"gsm:test:{number}")) for number in range(1500)]


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


def check_call(call: list[str], variants: int, before: int) -> None:
    kind, variant, *args = call
    assert ARITY[kind] == len(args)
    assert variant in {f"v{number}" for number in range(1, variants + 1)}
    assert all(int(arg[1:]) <= before for arg in args if arg[0] == "#")


def test_the_format_of_every_example() -> None:
    roles = Counter()
    for made in EXAMPLES:
        text, got, _ = state(made)
        assert "got:" not in text
        assert made.queries
        for prompt, answer in made.queries:
            assert prompt[-1] == "->"
            roles[prompt[0]] += 1
            if prompt[0] == "<score>":
                assert prompt[1] == "answer"
                assert int(prompt[2][1:]) <= len(got)
                assert answer in (["right"], ["wrong"])
                roles[answer[0]] += 1
                continue
            assert prompt[1] == "afford:"
            stop = prompt.index("plan:") if "plan:" in prompt else len(prompt) - 1
            digits = prompt[2:stop]
            assert len(digits) in {2, 3}
            assert all(len(digit) == 1 and digit.isdecimal() for digit in digits)
            *calls, last = split_calls(answer)
            if prompt[0] == "<plan>":
                assert last == ["answer", f"#{len(got) + len(calls)}"]
            elif last[0] != "answer":
                calls = [last]
            assert len(calls) <= 1 or prompt[0] == "<plan>"
            for number, call in enumerate(calls):
                check_call(call, len(digits), len(got) + number)
            if stop < len(prompt) - 1:
                hint = split_calls(prompt[stop + 1 : -1])
                assert hint[-1][0] == "answer"
                roles["hint right" if hint[0] == split_calls(answer)[0] else "hint wrong"] += 1
    assert (
        min(roles[role] for role in ("<plan>", "<act>", "<score>", "right", "wrong", "hint right", "hint wrong")) > 25
    )
    assert 0.7 < roles["right"] / roles["wrong"] < 1.4


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


def test_states_and_failed_calls_vary() -> None:
    made = Counter(len(state(one)[1]) for one in EXAMPLES if one.queries[0][0][0] != "<score>")
    assert 0.4 < made[0] / sum(made.values()) < 0.65
    assert min(made[count] for count in (1, 2, 3)) > 20
    failed = [call for one in EXAMPLES for call in state(one)[2]]
    assert failed
    for kind, variant, *args in failed:
        assert (ARITY[kind], variant[0]) == (len(args), "v")


def test_what_is_affordable_is_chosen() -> None:
    """A budget that pays the dearest variant for everything gets it; one that pays only the cheapest gets that."""
    seen = Counter()
    for made in EXAMPLES:
        for prompt, answer in made.queries:
            if prompt[0] != "<plan>" or answer[0] == "answer":
                continue
            digits = [int(digit) for digit in prompt[2:-1]]
            variants = [call[1] for call in split_calls(answer)[:-1]]
            if digits[-1] >= len(variants):
                assert set(variants) == {f"v{len(digits)}"}
                seen["dearest"] += 1
            elif max(digits[1:]) == 0:
                assert set(variants) == {"v1"}
                seen["cheapest"] += 1
            else:
                seen["mixed"] += 1
    assert min(seen[case] for case in ("dearest", "cheapest", "mixed")) > 20


def test_the_same_seed_gives_the_same_example() -> None:
    assert EXAMPLES[:50] == [example(random.Random(f"gsm:test:{number}")) for number in range(50)]


def test_the_vocabulary_has_no_word_twice() -> None:
    words = vocabulary()
    assert len(words) == len(set(words)) < 950
    assert {*KINDS, "1000", "dozen", "percent", "dollars"} <= set(words)


def test_mistakes_are_wrong_and_can_be_run() -> None:
    rng = random.Random("gsm:test:mistakes")
    lengths = set()
    for _ in range(400):
        problem = draw(rng, "train")
        words = delexicalise(problem.text)
        calls = calls_of(problem, words)
        kinds = PROFILES["priced"].kinds
        wrong, answer = mistaken(rng, calls, words, problem.target, kinds)
        steps = [Step(kind, tuple(argument_value(arg, words) for arg in args)) for kind, *args in wrong]
        assert not is_right(results(steps)[answer - 1], problem.target)
        lengths.add(len(calls) - len(wrong))
        at = rng.randrange(len(calls))
        assert wrong_call(rng, calls, at, words, kinds) not in calls
        made = rng.randint(1, len(calls))
        longer, now = detour(rng, calls, made, words, kinds)
        assert now - made == len(longer) - len(calls) in {0, 1}
        steps = [Step(kind, tuple(argument_value(arg, words) for arg in args)) for kind, *args in longer]
        try:
            assert is_right(results(steps)[-1], problem.target)
        except ArithmeticToolError:
            raise AssertionError(longer) from None
    assert lengths == {0, 1}
