"""A simulated language model for the recorded web: it knows what our own tasks ask, reads our own pages, and errs.

It gets the same prompts as any model and uses what they show: pages that are not shown it cannot read. Errors have the
same rate in every role: a wrong search or page, a fact misread or left out, a condition overlooked, an answer spoilt.
Half of them come back whenever the same point of a task is reached. Its results are no result of any model.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from envs.web_qa.made import FACTS, PRICES, Program, read
from envs.web_qa.web import DATA, load_pages, load_tasks
from tape.errors import ConfigError, ModelError
from tape.lm.base import JsonSchema, Request
from tape.lm.scripted import ScriptedLM

Rows = list[dict[str, Any]]
_TASK, _PAGE, _SEEN = (
    re.compile(p, re.M) for p in (r"^Task: (.+)$", r"^Page <(\S+)>:$", r"^(?:Page|Read before) <(\S+?)>")
)
_STEP, _ADDRESS = re.compile(r"^Step \d+ \((\w+)\): (.+)$", re.M), re.compile(r"https://[\w./-]+")
_ROWS, _LINK = re.compile(r"^- [^\n]*?: (\[.*\])", re.M), re.compile(r"- \[(.+?)\]\((\S+?)\)")


class Rates(NamedTuple):
    """How often it errs, each in [0, 1], and the seed of its errors; ``verdicts`` turns a verdict round."""

    errors: float = 0.1
    verdicts: float = 0.1
    seed: float = 0

    @classmethod
    def parse(cls, query: str) -> Rates:
        """Read ``errors=0.1&verdicts=0.05&seed=1``.

        Raises:
            ConfigError: There is no such option, or it is out of range.
        """
        given = dict(parse_qsl(query, keep_blank_values=True))
        try:
            found = cls(**{name: float(text) for name, text in given.items()})
        except (TypeError, ValueError):
            found = cls(-1)
        if not (0 <= found.errors <= 1 and 0 <= found.verdicts <= 1):
            raise ConfigError(f"simulated:web_qa?{query}: options are errors and verdicts (0 to 1) and seed, a number")
        return found


@cache
def _known() -> tuple[Mapping[str, Program], Mapping[str, str]]:
    """Programs by the texts of our tasks, and the pages by their addresses."""
    tasks = {task.text: Program.read(task.metadata) for task in load_tasks(DATA / "tasks.jsonl")}
    return tasks, {page.address: f"{page.title}\n{page.text}" for page in load_pages()}


class _Prompt:
    """One request, and what it shows."""

    def __init__(self, request: Request, sample: int, rates: Rates) -> None:
        self.text = request.prompt if isinstance(request.prompt, str) else request.prompt[-1].content
        programs, self.pages = _known()
        named = [text for text in _TASK.findall(self.text) if text in programs]
        if not named:
            raise ModelError(
                "unsupported: the simulated model knows our own tasks of web_qa alone; give another --model"
            )
        self.task, self.program = named[-1], programs[named[-1]]
        self.shown, self.seen = set(_PAGE.findall(self.text)), set(_SEEN.findall(self.text))
        self.rates, self._own = rates, f"{request.fingerprint('simulated')} {sample if request.temperature > 0 else 0}"
        self.directory = f"https://{self.program.town.lower()}.example/{self.program.kind.replace(' ', '-')}"
        self.places: dict[str, str] = dict(_LINK.findall(self.pages[self.directory]))

    def slip(self, *point: object) -> random.Random | None:
        """Chance to draw an error from, where there is one at a point of the task."""
        for where in ((self.task, *point), (self._own, *point)):
            rng = random.Random(f"{self.rates.seed} {where}")
            if rng.random() < self.rates.errors / 2:
                return rng
        return None

    # --- reading ----------------------------------------------------------------------------

    def address(self, name: str, fact: str) -> str:
        """The page that states a fact of a place."""
        return self.places[name] + (PRICES if FACTS[self.program.kind][fact].priced else "")

    def fact(self, name: str, fact: str, *, err: bool) -> tuple[Any, str, str] | None:
        """Value, sentence and address, as far as the page is shown; with an error another place's, or nothing."""
        at = self.address(name, fact)
        rng = self.slip("fact", name, fact) if err else None
        if rng is not None:
            others = [other for other in self.places if other != name]
            at = rng.choice([self.address(other, fact) for other in others] + [""])
        elif at not in self.shown:
            return None
        found = read(self.program.kind, fact, self.pages.get(at, ""))
        return None if found is None else (*found, at)

    def conditions(self) -> list[int]:
        """The conditions that it takes note of."""
        every = list(range(len(self.program.where)))
        if every and (rng := self.slip("condition")):
            every.remove(rng.choice(every))
        return every

    def narrowed(
        self, rows: Rows, fact: str, number: int | None, *, err: bool
    ) -> tuple[Rows, list[dict[str, str]], bool]:
        """Rows with a fact, those that meet a condition where one is meant; the quotes; whether every page was shown."""
        found, quotes, whole = Rows(), [], True
        for row in rows:
            told = self.fact(row["name"], fact, err=err)
            if told is None:
                whole = False
            elif number is None or self.program.holds(number, told[0]):
                found.append({**row, fact: told[0]})
                quotes.append({"address": told[2], "quote": told[1]})
        return found, quotes, whole

    def start(self) -> Rows:
        """The candidates."""
        if self.program.name:
            return [{"name": self.program.name}]
        return [{"name": name} for name in self.places] if self.directory in self.shown else []

    def answer(self, rows: Rows) -> Any:
        """The answer, with an error one place short, or of a number another."""
        rng = self.slip("answer")
        found = self.program.answer(rows[:-1] if rng is not None and len(rows) > 1 else rows)
        return found if isinstance(found, str | int | float) else json.dumps(found)

    # --- what is needed ---------------------------------------------------------------------

    def facts(self) -> list[tuple[str, int | None]]:
        """The facts that are read one after the other, with the condition where there is one."""
        return [
            *((self.program.where[i][0], i) for i in self.conditions()),
            *((fact, None) for fact in self.program.ask),
        ]

    def missing(self, rows: Rows, fact: str) -> list[str]:
        """Pages for a fact that were not read."""
        return [at for row in rows if (at := self.address(row["name"], fact)) not in self.seen]

    def doing(self, address: str) -> tuple[str, str]:
        """How to get to a page: by its address where one is shown, else by a search; with an error another."""
        rng = self.slip("doing", address)
        shown = sorted(set(_ADDRESS.findall(self.text)) - self.seen - {address})
        if rng is not None:
            return ("scrape", rng.choice(shown)) if shown else ("search", f"{self.program.town} city guide")
        if address in self.text:
            return "scrape", address
        return "search", self.pages[address].partition("\n")[0].replace(":", f" {self.program.town}")


def act(here: _Prompt) -> tuple[str, str | int | float]:
    """The next call of an agent that acts step by step: a page that is needed, or the answer."""
    rows = here.start()
    if not here.program.name and here.directory not in here.seen:
        return here.doing(here.directory)
    for fact, number in here.facts():
        if missing := here.missing(rows, fact):
            return here.doing(missing[0])
        rows, _, _ = here.narrowed(rows, fact, number, err=True)
    return "answer", here.answer(rows)


def steps(here: _Prompt) -> list[dict[str, str]]:
    """The narrowing steps."""
    program, facts = here.program, FACTS[here.program.kind]
    made = [] if program.name else [{"kind": "collect", "goal": f"the {program.kind} in {program.town}"}]
    made += [{"kind": "filter", "goal": program.condition(number)} for number in here.conditions()]
    return made + [{"kind": "extract", "goal": facts[fact].label} for fact in program.ask]


def of_step(here: _Prompt) -> tuple[str, str, int | None, Rows]:
    """Kind, fact and condition of the step that is asked about, and the rows that are certified before it."""
    [(kind, goal)] = _STEP.findall(here.text)[-1:]
    certified = (
        here.text.rpartition("Certified so far:")[2].partition("\nStep ")[0] if "Certified so far:" in here.text else ""
    )
    before = _ROWS.findall(certified)
    rows = json.loads(before[-1]) if before else ([{"name": here.program.name}] if here.program.name else [])
    if kind == "filter":
        number = [here.program.condition(i) for i in range(len(here.program.where))].index(goal)
        return kind, here.program.where[number][0], number, rows
    labels = {fact: key for key, (fact, *_) in FACTS[here.program.kind].items()}
    return kind, labels.get(goal, ""), None, rows


def found(here: _Prompt, *, err: bool) -> dict[str, Any]:
    """The finding of a step."""
    kind, fact, number, rows = of_step(here)
    if kind == "collect":
        rows, whole = here.start(), True
        if err and (rng := here.slip("collect")) and rows:
            rows.remove(rng.choice(rows))
        line = here.pages[here.directory].split("\n")[1]
        quotes = [{"address": here.directory, "quote": line}] if rows else []
    else:
        rows, quotes, whole = here.narrowed(rows, fact, number, err=err)
    return {"quotes": quotes, "finding": json.dumps(rows) if rows else "", "complete": whole}


def needed(here: _Prompt) -> list[dict[str, str]]:
    """The actions that bring what a step needs."""
    kind, fact, _, rows = of_step(here)
    if kind == "collect":
        pages = [here.directory] if here.directory not in here.seen else []
    else:
        pages = here.missing(rows, fact)
    return [{"do": do, "what": what} for do, what in map(here.doing, pages[:6])]


def reply(request: Request, sample: int, rates: Rates) -> str:
    """The answer to a request."""
    here = _Prompt(request, sample, rates)
    match request.role:
        case "act" | "plan":
            do, what = act(here)
            name = {"search": "query", "scrape": "address", "answer": "value"}[do]
            made = {"tool": do, "arguments": {name: what}}
            planned = {"calls": [made] if do != "answer" else [], "answer": what if do == "answer" else "unknown"}
            return json.dumps({"thought": "", **(planned if request.role == "plan" else {"call": made})})
        case "propose":
            return json.dumps({"steps": steps(here)})
        case "query":
            return json.dumps({"actions": needed(here)})
        case "realize":
            return json.dumps(found(here, err=True))
        case "validate":
            right = found(here, err=False)["finding"] in here.text.rpartition("Proposed finding: ")[2]
            wrong = random.Random(f"{here._own} verdict").random() < rates.verdicts
            return json.dumps(
                {
                    "reason": "the pages say so" if right != wrong else "the pages say something else",
                    "verdict": "pass" if right != wrong else "fail",
                }
            )
        case "answer":
            sdp = isinstance(request.constraint, JsonSchema) and "reason" in request.constraint.model.model_fields
            rows = _ROWS.findall(here.text.rpartition("Certified so far:")[2])
            final = here.answer(json.loads(rows[-1]) if rows else []) if sdp else _at_limit(here)
            return json.dumps({"reason": "", "answer": str(final)} if sdp else {"answer": final})
    return "right" if request.role == "score" else "1"


def _at_limit(here: _Prompt) -> Any:
    rows = here.start()
    for fact, number in here.facts():
        rows, _, _ = here.narrowed(rows, fact, number, err=True)
    return here.answer(rows)


class SimulatedLM(ScriptedLM):
    """The simulated model.

    Args:
        rates: Its error rates.
        name: The string it was opened with.
    """

    def __init__(self, rates: Rates, name: str) -> None:
        super().__init__(
            lambda request, n: reply(request, n, rates), prompt_format="web_qa", identity=f"simulated:web_qa@1 {rates}"
        )
        self.name = name
