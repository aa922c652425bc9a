"""Templates put together from parts: what somebody earned, what it cost, and what is asked."""

from __future__ import annotations

from dataclasses import dataclass

from envs.gsm_hard.templates import Template


@dataclass(frozen=True)
class _Part:
    """A source of income or a cost, in the forms that sentences need.

    Attributes:
        numbers: Range of each number; ``0`` and ``1`` in the other fields stand for them.
        program: Steps that lead to its amount; empty where its only number is the amount.
        past: "sold ...".
        gerund: "selling ...".
        base: "sell ...".
    """

    numbers: tuple[str, ...]
    program: tuple[str, ...]
    past: str
    gerund: str
    base: str


_PARTS = {
    "sale": _Part(
        ("big", "price"),
        ("multiply 0 1",),
        "sold {0} {item} [at ${1} each|for ${1} apiece]",
        "selling {0} {item} [at|for] ${1} [each|apiece]",
        "sell {0} {item} [at|for] ${1} each",
    ),
    "dozen": _Part(
        ("mid", "price"),
        ("multiply 0 12", "multiply #1 1"),
        "sold {0} dozen {food} [at|for] ${1} per piece",
        "selling {0} dozen {food} [at|for] ${1} per piece",
        "sell {0} dozen {food} [at|for] ${1} per piece",
    ),
    "wage": _Part(
        ("mid", "price"),
        ("multiply 0 1",),
        "worked {0} hours [for|at] ${1} an hour",
        "working {0} hours [for|at] ${1} an hour",
        "work {0} hours [for|at] ${1} an hour",
    ),
    "gift": _Part(
        ("cost",),
        (),
        "got ${0} from {his} {kin}",
        "getting ${0} from {his} {kin}",
        "get ${0} from {his} {kin}",
    ),
    "buy": _Part(
        ("mid", "price"),
        ("multiply 0 1",),
        "bought {0} {item3} [at|for] ${1} [each|apiece]",
        "buying {0} {item3} [at|for] ${1} each",
        "buy {0} {item3} at ${1} [each|apiece]",
    ),
    "bill": _Part(
        ("mid",),
        (),
        "paid a bill of ${0}",
        "paying a bill of ${0}",
        "pay a bill of ${0}",
    ),
    "rent": _Part(
        ("small", "price"),
        ("multiply 0 1",),
        "rented a stall for {0} weeks at ${1} a week",
        "renting a stall for {0} weeks at ${1} a week",
        "rent a stall for {0} weeks at ${1} a week",
    ),
}

_ASKED = {
    # With and without half of it; without costs "in all" is asked for, with costs what is left.
    ("left", False): (
        "How much money [was left|did {name} have left]?",
        "how much money does {name} have left",
        "How much money will {he} have then?",
        "the money that is left",
    ),
    ("left", True): (
        "{name2} got half of what was left. How much did {name2} get?",
        "how much is half of the money that {name} has left",
        "Half of what is left then goes to {name2}. How much will {name2} get?",
        "half of the money that is left",
    ),
    ("made", False): (
        "How much money [was that in all|did {name} get altogether]?",
        "how much money does {name} have",
        "How much money will {he} make in total?",
        "all the money that was made",
    ),
    ("made", True): (
        "Half of this money went into savings. How much was saved?",
        "how much is half of the money that {name} has made",
        "Half of that money is meant for {name2}. How much will {name2} get?",
        "half of the money that was made",
    ),
}


def _wordings(incomes: list[_Part], costs: list[_Part], half: bool) -> tuple[str, ...]:
    earned, question, later, sought = _ASKED["left" if costs else "made", half]
    past = " and ".join(part.past for part in incomes)
    gerund = " and ".join(part.gerund for part in incomes)
    base = " and ".join(part.base for part in incomes)
    turned = ". [Also|Besides], {he} ".join(part.past for part in reversed(incomes))
    cost = costs[0] if costs else None
    return (
        "{name} " + past + ". " + (f"[Then|After that|Later] {{he}} {cost.past}. " if cost else "") + earned,
        "[Last month|Last year|In spring] {name} made money by "
        + gerund
        + ". "
        + (f"{{He}} spent some of it by {cost.gerund}. " if cost else "")
        + earned,
        f"After {gerund}" + (f", and then {cost.gerund}" if cost else "") + f", {question}?",
        (f"{{name}} {cost.past}. To be able to pay for it, {{he}} had {turned}. " if cost else f"{{name}} {turned}. ")
        + earned,
        f"{{name}} [wants|plans] to {base}. "
        + (f"From that money {{he}} [has|wants] to {cost.base}. " if cost else "")
        + later,
        "What is "
        + sought
        + ", in dollars, when {name} "
        + past
        + (f" and at the end {{he}} {cost.past}" if cost else "")
        + "?",
    )


def _compose(name: str, incomes: str, costs: str = "", half: bool = False, held_out: bool = False) -> Template:
    letters = iter("abcdefgh")
    numbers: list[str] = []
    steps: list[str] = []

    def place(kind: str) -> tuple[_Part, str]:
        part = _PARTS[kind]
        own = [next(letters) for _ in part.numbers]
        numbers.extend(f"{letter}:{kind}" for letter, kind in zip(own, part.numbers, strict=True))
        amount = own[0]
        for step in part.program:
            operation, *args = step.split()
            args = [own[int(arg)] if arg in {"0", "1"} else amount if arg[0] == "#" else arg for arg in args]
            steps.append(" ".join([operation, *args]))
            amount = f"#{len(steps)}"
        texts = [part.past, part.gerund, part.base]
        for index, letter in enumerate(own):
            texts = [text.replace(f"{{{index}}}", f"{{{letter}}}") for text in texts]
        return _Part(part.numbers, part.program, *texts), amount

    earned = [place(kind) for kind in incomes.split()]
    spent = [place(kind) for kind in costs.split()]
    total = earned[0][1]
    for operation, parts in (("add", earned[1:]), ("subtract", spent)):
        for _, amount in parts:
            steps.append(f"{operation} {total} {amount}")
            total = f"#{len(steps)}"
    if half:
        steps.append(f"divide {total} 2")
    wordings = _wordings([part for part, _ in earned], [part for part, _ in spent], half)
    return Template(f"money-{name}", " ".join(numbers), "; ".join(steps), wordings, held_out)


TEMPLATES: tuple[Template, ...] = (
    _compose("sale-wage", "sale wage"),
    _compose("sale-gift", "sale gift"),
    _compose("wage-bill", "wage", "bill"),
    _compose("sale-rent", "sale", "rent"),
    _compose("gift-buy", "gift", "buy"),
    _compose("sale-wage-bill", "sale wage", "bill"),
    _compose("gift-sale-buy", "gift sale", "buy"),
    _compose("sale-wage-buy", "sale wage", "buy"),
    _compose("sale-gift-rent", "sale gift", "rent", held_out=True),
    _compose("wage-gift-bill", "wage gift", "bill"),
    _compose("dozen-gift", "dozen gift"),
    _compose("dozen-buy", "dozen", "buy"),
    _compose("dozen-wage-bill", "dozen wage", "bill", held_out=True),
    _compose("sale-bill-half", "sale", "bill", half=True),
    _compose("wage-sale-half", "wage sale", half=True),
    _compose("wage-buy", "wage", "buy", held_out=True),
    _compose("gift-bill-half", "gift", "bill", half=True, held_out=True),
)
