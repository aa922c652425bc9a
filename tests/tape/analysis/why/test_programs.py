"""``why()`` on choices by programs: every selection is made again, and what was left out is named."""

from __future__ import annotations

from tape import Budget, TapeAgent, ToolEnvironment, tool
from tape.lm.scripted import ScriptedLM
from tape.tools import Tool


def multiply() -> list[Tool]:
    @tool(kind="multiply", variant="rough", quality=0.8, usd="0.001", pure=True)
    def rough(a: float, b: float) -> float:
        """Multiply two numbers, to one digit."""
        return float(f"{a * b:.1g}")

    @tool(kind="multiply", variant="exact", quality=1.0, usd="0.02", pure=True)
    def exact(a: float, b: float) -> float:
        """Multiply two numbers."""
        return a * b

    return [rough, exact]


def test_a_budget_that_decides_between_variants_is_named() -> None:
    model = ScriptedLM(["x = multiply(multiply(1207, 12), 38)\nanswer(x)"])
    why = TapeAgent(model).run(ToolEnvironment("How much?", multiply()), budget=Budget.of(usd="0.025")).why()
    assert "cannot be reproduced" not in why
    assert "usd decided: with $0.04 ($0.015 more)" in " ".join(why.split())


def test_what_was_looked_up_and_what_was_left_out_is_said() -> None:
    @tool(usd=0)
    def mail(to: str) -> str:
        """Send a mail."""
        return to

    @tool(usd="0.01", pure=True)
    def find(name: str) -> str:
        """Find an address."""
        return f"{name}@x"

    texts = ["a = find('ann')\nmail(a)\nanswer(a)", "b = find('bob')\nanswer(b)", "a = find('ann')\nanswer(a)"]
    environment = ToolEnvironment("Find ann's address.", [mail, find], budget="$1, 20 steps")
    result = TapeAgent(ScriptedLM([*texts, texts[2], texts[2]])).run(environment)
    why = " ".join(result.why().split())
    assert (result.answer, result.left_out) == ("ann@x", ["mail(a)"])
    assert "Left out, since too few of the sampled programs have it: mail(a)" in why
    assert "It was looked up to compare the sampled programs by their values" in why
    assert "cannot be reproduced" not in why
