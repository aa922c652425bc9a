"""A small corpus, a question with its hops, and models that know the answers."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from envs.hotpotqa.environment import HotpotEnvironment
from envs.hotpotqa.search import TitledCorpus
from envs.hotpotqa.setting import Setting
from envs.musique.question import MusiqueQuestion
from tape.budget import Ledger
from tape.engine.context import RoleContext
from tape.engine.settings import TapeConfig
from tape.lm.accounting import AccountedLM
from tape.lm.base import LanguageModel, Request
from tape.lm.scripted import ScriptedLM
from tape.methods.sdp.adapter import Tools
from tape.protocols.search import Passage
from tape.seeds import derive
from tape.trace import TraceWriter

PASSAGES = (
    Passage("1", "Aldera", "Aldera is a ship with two masts. Belmar Yards built Aldera."),
    Passage("2", "Belmar Yards", "The firm Belmar Yards was founded by Ada Quill."),
    Passage("3", "Corvo (film)", "Corvo is a film about the river Dunna."),
    Passage("4", "Elmo Works", "The firm Elmo Works was founded by Fenn Garrow."),
    Passage("5", "Fenn Garrow", "Fenn Garrow wrote a letter to Ada Quill."),
)
QUESTION = MusiqueQuestion("2hop__1", "Who founded the firm that built Aldera?", "Ada Quill")
SUBS = ("Who built Aldera?", "Who founded #1?")


run = asyncio.run


def environment(mode: str = "distractor", **more: Any) -> HotpotEnvironment:
    if mode == "open":
        return HotpotEnvironment(QUESTION, corpus=TitledCorpus(PASSAGES), **more)
    return HotpotEnvironment(QUESTION, given=PASSAGES, **more)


def setting(**more: Any) -> Setting:
    return Setting(**{"question": QUESTION.text, "benchmark": "hotpotqa", "hops": 2, "searches": False, **more})


def tools_for(lm: LanguageModel, env: HotpotEnvironment, **config: Any) -> Tools:
    trace = TraceWriter("test")
    roles = RoleContext(AccountedLM(lm, Ledger(), trace), env.prompt_format("chat"), env.domain, trace)
    return Tools(roles, TapeConfig.make(**config), lambda *parts: derive(0, *parts))


def text_of(request: Request) -> str:
    assert not isinstance(request.prompt, str)
    return request.prompt[-1].content


FACTS = {"built": ("Belmar Yards", "Aldera"), "founded": ("Ada Quill", "Belmar Yards")}


def knowing(change: Callable[[Request, str], str | None] = lambda *_: None, *, obey: bool = True) -> ScriptedLM:
    """Answers every prompt of SDP rightly, unless ``change`` returns another reply."""

    def reply(request: Request, sample: int) -> str:
        del sample
        text = text_of(request)
        return change(request, text) or _right(request, text)

    return ScriptedLM(reply, obey=obey)


def sub_questions(*subs: str) -> str:
    return json.dumps({str(number): sub for number, sub in enumerate(subs, 1)})


def found(finding: str, title: str) -> str:
    return json.dumps({"quote": f"It says {finding}.", "answer": finding, "title": title})


def answer(text: str) -> str:
    return json.dumps({"reason": "so it was found", "answer": text})


def _right(request: Request, text: str) -> str:
    if request.role == "propose":
        return sub_questions(*SUBS[-(1 if "into one sub-question" in text else 2) :])
    if request.role == "answer":
        return answer("Ada Quill")
    if request.role == "query":
        return json.dumps({"query": "Aldera" if "Who built" in text else "Belmar Yards"})
    if request.role == "realize":
        return found(*FACTS["built" if "Who built" in text else "founded"])
    assert request.role == "validate"
    if "follow from these findings" in text:
        return "yes" if "Proposed answer: Ada Quill" in text else "no"
    paragraph, asked = text.split("\n\n")[:2]
    finding = asked.split("Proposed answer: ")[1]
    verb = next(verb for verb in FACTS if verb in asked)
    return "yes" if finding == FACTS[verb][0] and finding in paragraph and verb in paragraph else "no"
