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
from typing import Any

from envs.rates import Rates
from envs.web_qa.made import FACTS, PRICES, PlaceQuestion, read
from envs.web_qa.prompts import MOST_ACTIONS, MOST_QUOTES, Final
from envs.web_qa.web import DATA, load_pages, load_tasks
from tape.errors import ModelError
from tape.lm.base import JsonSchema, Request
from tape.lm.scripted import ScriptedLM
from tape.tools.role_cases import python_text

Rows = list[dict[str, Any]]
_TASK, _PAGE, _SEEN = (
    re.compile(p, re.M) for p in (r"^Task: (.+)$", r"^Page <(\S+)>:$", r"^(?:Page|Read before) <(\S+?)>")
)
_STEP, _ADDRESS = re.compile(r"^Step \d+ \((\w+)\): (.+)$", re.M), re.compile(r"https://[\w./-]+")
_ROWS, _LINK = re.compile(r"^- [^\n]*?: (\[.*\])", re.M), re.compile(r"- \[(.+?)\]\((\S+?)\)")


@cache
def _known() -> tuple[Mapping[str, PlaceQuestion], Mapping[str, str]]:
    """Programs by the texts of our tasks, and the pages by their addresses."""
    tasks = {task.text: PlaceQuestion.read(task.metadata) for task in load_tasks(DATA / "tasks.jsonl")}
    return tasks, {page.address: f"{page.title}\n{page.text}" for page in load_pages()}


class _Prompt:
    """One request, and what it shows."""

    def __init__(self, request: Request, sample: int, rates: Rates) -> None:
        assert not isinstance(request.prompt, str), "prompts are messages"
        texts, (programs, self.pages) = [message.content for message in request.prompt], _known()
        asked = [number for number, text in enumerate(texts) if any(t in programs for t in _TASK.findall(text))]
        self.text = "\n".join(texts[(asked or [-1])[-1] :])  # the lines of a conversation come after the task
        named = [text for text in _TASK.findall(self.text) if text in programs]
        if not named:
            raise ModelError(
                "unsupported: the simulated model knows our own tasks of web_qa alone; take another --model"
            )
        self.task, self.program = named[-1], programs[named[-1]]
        self.facts = FACTS[self.program.kind]
        self.shown, self.seen = set(_PAGE.findall(self.text)), set(_SEEN.findall(self.text))
        self.rates, self.own = rates, f"{request.fingerprint('simulated')} {sample if request.temperature > 0 else 0}"
        self.directory = f"https://{self.program.town.lower()}.example/{self.program.kind.replace(' ', '-')}"
        self.places: dict[str, str] = dict(_LINK.findall(self.pages[self.directory]))

    def slip(self, *point: object) -> random.Random | None:
        """Chance to draw an error from, where there is one at a point of the task."""
        for where in ((self.task, *point), (self.own, *point)):
            rng = random.Random(f"{self.rates.seed} {where}")
            if rng.random() < self.rates.errors / 2:
                return rng
        return None

    def address(self, name: str, fact: str) -> str:
        """The page that states a fact of a place."""
        return self.places[name] + (PRICES if self.facts[fact].priced else "")

    def told(self, name: str, fact: str, err: bool) -> tuple[Any, str, str] | None:
        """Value, sentence and address, as far as the page is shown; with an error another place's, or nothing."""
        at = self.address(name, fact)
        if err and (rng := self.slip("fact", name, fact)):
            at = rng.choice([*(self.address(other, fact) for other in self.places if other != name), ""])
        elif at not in self.shown:
            return None
        pair = read(self.program.kind, fact, self.pages.get(at, ""))
        return None if pair is None else (*pair, at)

    def narrowed(self, rows: Rows, fact: str, number: int | None, err: bool) -> tuple[Rows, list[dict[str, str]]]:
        """Rows with a fact, those that meet a condition where one is meant, and the quotes."""
        told = [(row, here) for row in rows if (here := self.told(row["name"], fact, err)) is not None]
        kept = [(row, here) for row, here in told if number is None or self.program.holds(number, here[0])]
        quotes = [{"address": here[2], "quote": here[1]} for _, here in kept]
        return [{**row, fact: here[0]} for row, here in kept], quotes

    def conditions(self) -> list[int]:
        """The conditions that it takes note of."""
        every = list(range(len(self.program.where)))
        if every and (rng := self.slip("condition")):
            every.remove(rng.choice(every))
        return every

    def start(self) -> Rows:
        """The candidates."""
        if self.program.name:
            return [{"name": self.program.name}]
        return [{"name": name} for name in self.places] if self.directory in self.shown else []

    def missing(self, rows: Rows, fact: str) -> list[str]:
        """The pages for a fact that were not read."""
        pages = [self.address(row["name"], fact) for row in rows] if fact else [self.directory]
        return [page for page in pages if page not in self.seen]

    def read_up(self) -> tuple[list[str], Rows]:
        """Pages that are still needed, those of the first fact that lacks some, and what the rest comes to."""
        rows, lacks = self.start(), [] if self.program.name else self.missing([], "")
        facts = [(self.program.where[i][0], i) for i in self.conditions()] + [(fact, None) for fact in self.program.ask]
        for fact, number in facts:
            lacks = lacks or self.missing(rows, fact)
            rows, _ = self.narrowed(rows, fact, number, err=True)
        return lacks, rows

    def doing(self, address: str) -> tuple[str, str]:
        """How to get to a page: by its address where it is shown, else by a search; with an error another page."""
        others = sorted(set(_ADDRESS.findall(self.text)) - self.seen - {address})
        if rng := self.slip("doing", address):
            return ("scrape", rng.choice(others)) if others else ("search", f"{self.program.town} city guide")
        if address in self.text:
            return "scrape", address
        return "search", self.pages[address].partition("\n")[0].replace(":", f" {self.program.town}")

    def answer(self, rows: Rows) -> Any:
        """The answer; with an error one place short."""
        answer = self.program.answer(rows[:-1] if self.slip("answer") and len(rows) > 1 else rows)
        return answer if isinstance(answer, str | int | float) else json.dumps(answer)

    # --- SDP's steps ------------------------------------------------------------------------

    def steps(self) -> list[dict[str, str]]:
        """The narrowing steps."""
        program = self.program
        made = [] if program.name else [("collect", f"the {program.kind} in {program.town}")]
        made += [("filter", program.condition(number)) for number in self.conditions()]
        made += [("extract", self.facts[fact].label) for fact in program.ask]
        return [{"kind": kind, "goal": goal} for kind, goal in made]

    def certified(self) -> Rows:
        """The rows of the last certified finding."""
        _, mark, after = self.text.rpartition("Certified so far:")
        matches = _ROWS.findall(after.partition("\nStep ")[0]) if mark else []
        return json.loads(matches[-1]) if matches else self.start() if self.program.name else []

    def step(self) -> tuple[str, int | None]:
        """Fact and condition of the step that is asked about; no fact where candidates are collected."""
        kind, goal = _STEP.findall(self.text)[-1]
        if kind == "filter":
            number = [self.program.condition(i) for i in range(len(self.program.where))].index(goal)
            return self.program.where[number][0], number
        return next((key for key, fact in self.facts.items() if fact.label == goal), ""), None

    def finding(self, err: bool) -> dict[str, Any]:
        """The finding of a step."""
        (fact, number), before = self.step(), self.certified()
        rows, quotes = self.narrowed(before, fact, number, err) if fact else (self.start(), [])
        if not fact and rows:
            quotes = [{"address": self.directory, "quote": self.pages[self.directory].split("\n")[1]}]
            if err and (rng := self.slip("collect")):
                rows.remove(rng.choice(rows))
        whole = not self.missing(before, fact)
        return {"quotes": quotes[:MOST_QUOTES], "finding": json.dumps(rows) if rows else "", "complete": whole}


def reply(request: Request, sample: int, rates: Rates) -> str:
    """The answer to a request."""
    here = _Prompt(request, sample, rates)
    match request.role:
        case "act" | "plan":
            lacks, rows = here.read_up()
            do, what = here.doing(lacks[0]) if lacks else ("answer", here.answer(rows))
            # Of a plan it knows the beginning: which pages there are, a search has to bring.
            return f"found = {do}({python_text(what)})" if lacks else f"answer({python_text(what)})"
        case "propose":
            return json.dumps({"steps": here.steps()})
        case "query":
            lacks = here.missing(here.certified(), here.step()[0])[:MOST_ACTIONS]
            return json.dumps({"actions": [{"do": do, "what": what} for do, what in map(here.doing, lacks)]})
        case "realize":
            return json.dumps(here.finding(err=True))
        case "validate":
            right = here.finding(err=False)["finding"] in here.text.rpartition("Proposed finding: ")[2]
            passes = right != (random.Random(f"{here.own} verdict").random() < rates.verdicts)
            return json.dumps({"reason": "compared with the pages", "verdict": "pass" if passes else "fail"})
        case "answer" if isinstance(request.constraint, JsonSchema) and request.constraint.model is Final:
            return json.dumps({"reason": "", "answer": str(here.answer(here.certified()))})
        case "answer":
            return f"answer({python_text(here.answer(here.read_up()[1]))})"
    return "right" if request.role == "score" else "1"


class SimulatedLM(ScriptedLM):
    """The simulated model."""

    def __init__(self, rates: Rates, name: str) -> None:
        identity = f"simulated:web_qa@1 {rates}"
        super().__init__(lambda request, n: reply(request, n, rates), prompt_format="web_qa", identity=identity)
        self.name = name
