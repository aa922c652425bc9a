"""Questions about one invented place with known answers, for every role of agents that act step by step and of SDP."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from envs.search.retrieval import words
from envs.web_qa.evidence import SCRAPE, SEARCH, gathered
from envs.web_qa.made import FACTS, PRICES, read
from envs.web_qa.measure import score
from envs.web_qa.prompts import ASKS, Doings, Final, Judgement, OperatorView, StepFinding, Steps, WebFormat
from envs.web_qa.web import Web, load_pages
from tape.lm.base import Request
from tape.protocols.role_cases import RoleCase, chat_only, judged_act, judged_by
from tape.reading import parsed
from tape.seeds import derive
from tape.tools.calls import answer, call, parse
from tape.tools.domain import ToolDomain
from tape.tools.role_cases import program_text
from tape.tools.state import ToolState


class _Case:
    """A fact of a place, its page among what a search brought, and the page of another place."""

    def __init__(self, rng: random.Random) -> None:
        self.web, self.rng, self.kind = Web(load_pages()), rng, rng.choice(list(FACTS))
        places = [page for page in self.web.pages.values() if f"[All {self.kind} in " in page.text]
        home, other = rng.sample(places, 2)
        self.key = rng.choice(list(FACTS[self.kind]))
        fact = FACTS[self.kind][self.key]
        self.name, _, town = home.title.partition(", ")
        self.at, self.off = (page.address + PRICES * fact.priced for page in (home, other))
        self.value, self.quote = self.told(self.at)
        self.task = f"At the {self.name} in {town}, what is {fact.label}?"
        query = f"{self.name} {town} {fact.label}"
        match = self.web.search(query)
        if self.at not in [texts["address"] for texts in match]:
            match[-1] = {"title": home.title, "address": self.at, "snippet": ""}
        self.searched = ToolState().with_call(call(SEARCH, query=query), json.dumps(match))
        self.opened = self.searched.with_call(call(SCRAPE, address=self.at), json.dumps(self.web.scrape(self.at)))
        self.step = f"Step 1 (extract): {fact.label} of the {self.name} in {town}"

    def told(self, address: str) -> tuple[Any, str]:
        """What a page states of the fact, and the sentence."""
        told = read(self.kind, self.key, self.web.pages[address].text)
        assert told is not None, "every page states its facts"
        return told

    def right(self, given: Any) -> bool | str:
        """Whether an answer is right."""
        return score(given, str(self.value)).exact or f"{given!s:.80}, is {self.value}"


def role_cases(prompts: str, role: str, count: int, seed: int) -> list[RoleCase]:
    """See :meth:`tape.protocols.EnvironmentPlugin.role_cases`."""
    chat_only(prompts)
    make: Callable[[_Case, str], RoleCase] = {
        "act": _act, "propose": _propose, "query": _query, "realize": _realize, "validate": _validate,
        "answer": _answer,
    }[role]  # fmt: skip
    made = (_Case(random.Random(derive(seed, "role_cases", "web_qa", role, number))) for number in range(count))
    return [make(case, f"{seed}-{number}") for number, case in enumerate(made)]


def _act(made: _Case, name: str) -> RoleCase:
    form, opened = WebFormat(ToolDomain(made.task, made.web.tools())), made.rng.random() < 0.5
    state = made.opened if opened else made.searched
    wanted = answer(str(made.value)) if opened else call(SCRAPE, address=made.at)

    def right(action: str) -> bool | str:
        taken = parse(action)
        return made.right(taken.values([])["value"]) if opened and taken.kind == wanted.kind else taken == wanted

    ideal = f"answer({json.dumps(str(made.value))})" if opened else program_text([wanted])
    return RoleCase("act", name, form.act_request(state, {"steps": 9}, None, ()), judged_act(form, state, right), ideal)


def _case(role: str, name: str, request: Request, right: Callable[[Any], bool | str], **ideal: Any) -> RoleCase:
    schema = ASKS[role][0]
    return RoleCase(role, name, request, judged_by(lambda text: parsed(schema, text), right), json.dumps(ideal))


def _propose(made: _Case, name: str) -> RoleCase:
    goal, asked = made.step.partition(": ")[2], set(words(FACTS[made.kind][made.key].label))

    def right(steps: Steps) -> bool | str:
        return any(asked <= set(words(step.goal)) for step in steps.steps) or "; ".join(
            step.goal for step in steps.steps
        )

    request = OperatorView(made.task).request("propose")
    return _case("propose", name, request, right, steps=[{"kind": "extract", "goal": goal}])


def _query(made: _Case, name: str) -> RoleCase:
    def right(doings: Doings) -> bool | str:
        return any(action.what == made.at for action in doings.actions) or "; ".join(
            action.what for action in doings.actions
        )

    links = f"Linked and not read:\n- {made.at}"
    request = OperatorView(made.task, gathered(made.searched), made.step).request("query", links)
    return _case("query", name, request, right, actions=[{"do": SCRAPE, "what": made.at}])


def _realize(made: _Case, name: str) -> RoleCase:
    evidence = gathered(made.opened)

    def right(finding: StepFinding) -> bool | str:
        grounded = bool(finding.quotes) and all(evidence.says(quote.address, quote.quote) for quote in finding.quotes)
        return (grounded and str(made.value) in finding.finding) or f"{finding.finding:.80}, is {made.value}"

    quotes = [{"address": made.at, "quote": made.quote}]
    request = OperatorView(made.task, evidence, made.step).request("realize")
    return _case("realize", name, request, right, quotes=quotes, finding=str(made.value), complete=True)


def _validate(made: _Case, name: str) -> RoleCase:
    truth = made.rng.choice(("pass", "fail"))
    opened = made.opened.with_call(call(SCRAPE, address=made.off), json.dumps(made.web.scrape(made.off)))
    address = made.at if truth == "pass" else made.off
    value, quote = made.told(address)
    shown = f"Proposed finding: {value}\nQuotes:\n- <{address}> {quote}"
    request = OperatorView(made.task, gathered(opened), made.step).request("validate", shown)
    judge: Callable[[Judgement], bool | str] = lambda judgement: judgement.verdict == truth or f"is {truth}"  # noqa: E731
    return replace(_case("validate", name, request, judge, reason="So the page says.", verdict=truth), chance=0.5)


def _answer(made: _Case, name: str) -> RoleCase:
    request = OperatorView(made.task, findings=((made.step, str(made.value)),)).request("answer")
    right: Callable[[Final], bool | str] = lambda result: made.right(result.answer)  # noqa: E731
    return _case("answer", name, request, right, reason="It was found.", answer=str(made.value))
