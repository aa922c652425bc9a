"""Random searches whose settings fit together, and what holds of every one of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tape import Budget
from tape.methods.cgdp.agents.cgdp import CgdpAgent
from tape.methods.cgdp.agents.ircot import IrcotAgent
from tape.methods.cgdp.agents.iter_retgen import IterRetgenAgent
from tape.methods.cgdp.agents.memgpt import MemgptAgent
from tape.methods.cgdp.agents.react_search import ReactSearchAgent
from tape.methods.cgdp.agents.search import SearchAgent
from tape.methods.cgdp.belief import verified
from tape.methods.cgdp.events import BeliefEvent, GateEvent, HeldFact, RetrievedEvent, StoppedEvent
from tape.methods.cgdp.gates import CONFIGURATIONS
from tape.methods.cgdp.view import Fact
from tape.protocols.result import EpisodeResult
from tape.protocols.search import Passage
from tape.trace import read_trace
from tests.tape.methods.cgdp.policy import longest, play, scripted_policy

AGENTS: tuple[type[SearchAgent], ...] = (CgdpAgent, IrcotAgent, ReactSearchAgent, MemgptAgent, IterRetgenAgent)
GATES = ("none", "f_j0.6_u0.3_p2", "s_j0.5_u0.15_p2", "fixed:2", "voi")


def random_case(rng: random.Random) -> dict[str, Any]:
    """A case of the sweep, whose settings fit together."""
    while True:
        case: dict[str, Any] = {
            "agent": rng.choice(AGENTS), "memory": rng.choice(["baseline", "lobotomized", "structured", "freeform"]),
            "gate": rng.choice([*GATES, *CONFIGURATIONS]), "select": rng.choice(["lm", "solver"]),
            "verify": rng.choice(["none", "none", "aec"]), "seed": rng.randrange(10**6),
            "failing": rng.choice([0.0, 0.1, 0.5, 1.0]), "lying": rng.choice([0.0, 0.2, 0.8]),
            "window": rng.randint(300, 700), "tokens": rng.randint(300, 9000), "calls": rng.randint(1, 40),
            "steps": rng.randint(1, 14),
        }  # fmt: skip
        agent, memory, select = case["agent"], case["memory"], case["select"]
        known = memory in agent.memories and select in agent.selections
        aec = case["verify"] == "none" or memory in ("structured", "freeform")
        if known and aec and (select == "lm" or memory == "structured"):
            return case


def play_case(case: dict[str, Any], trace: Path) -> EpisodeResult:
    """Play a case, and check what holds of every search."""
    settings = {name: case[name] for name in ("memory", "gate", "select", "verify")}
    model = scripted_policy(case["seed"], case["failing"], case["lying"])
    caps, window = Budget({name: case[name] for name in ("tokens", "calls", "steps")}), case["window"]
    more = {"context_tokens": window, "k_trigger": 4, "k_target": 3}
    result = play(case["agent"], model, trace, budget=caps, **settings, **more)
    assert longest(model) <= window
    assert (result.budget_violations, result.broken_declarations) == ([], {})
    assert all((result.used.get(kind) or 0) <= cap for kind, cap in caps.items())
    assert result.end_state in ("success", "failure") or result.end_state.startswith("budget:"), result.detail
    assert result.measures.get("longest_prompt", 0.0) <= window
    check_trace(trace, result)
    return result


def check_trace(trace: Path, result: EpisodeResult) -> None:
    """Facts re-verify, beliefs follow from those before and keep their caps, and a gate that fires stops the search."""
    passages: dict[str, Passage] = {}
    rounds, fired, known, questions = 0, False, list[HeldFact](), None
    for event in read_trace(trace):
        match event:
            case RetrievedEvent():
                rounds, fired = rounds + 1, False
                passages |= {passage.id: Passage(passage.id, passage.title, passage.text) for passage in event.passages}
            case BeliefEvent():
                assert all(verified(Fact(**held.model_dump()), passages) for held in event.facts)
                assert len(event.facts) + len(event.questions) <= 4
                assert event.added == [number for number, fact in enumerate(event.facts) if fact not in known]
                assert {fact.text for fact in known if fact not in event.facts} <= {*event.dropped}
                if questions is not None:
                    assert {*event.resolved} <= questions <= {*event.questions, *event.resolved, *event.dropped}
                known, questions = event.facts, {*event.questions}
            case GateEvent():
                fired = event.fired
                assert event.round > 1 or event.jaccard == 0.0
            case StoppedEvent():
                assert event.reason.startswith("the gate") == fired
                assert event.right == result.success
            case _:
                continue
        assert event.round == rounds
    assert result.measures.get("rounds", rounds) == rounds
    assert result.measures.get("facts", len(known)) == len(known)
