"""Questions played with retrievers: reading what was found, look-ups that fail, measures."""

import re
from pathlib import Path

import pytest

from envs.musique.environment import MusiqueEnvironment
from envs.musique.errors import MusiqueError
from envs.musique.plugin import PLUGIN
from envs.musique.question import MusiqueQuestion
from envs.musique.retrieval import RETRIEVERS, TIGHTNESSES, Corpus, budget
from tape.agents.base import Agent
from tape.agents.plan_and_act_replan import PlanAndActReplanAgent
from tape.agents.react import ReactAgent
from tape.agents.tape import TapeAgent
from tape.budget import Budget
from tape.lm.base import Request
from tape.lm.scripted import ScriptedLM
from tape.protocols.result import EpisodeResult
from tape.protocols.search import Passage
from tests.envs.musique.test_loader import record, write
from tests.envs.tool_scripts import look_up_script
from tests.tape.tools.helpers import asked

CORPUS = Corpus(
    [
        Passage("1", "Aldera", "Aldera is a ship. Belmar Yards built Aldera."),
        Passage("2", "Belmar Yards", "The firm Belmar Yards was founded by Ada Quill."),
        Passage("3", "Corvo", "Corvo is a town on the river Dunna."),
        Passage("4", "Elmo Works", "The firm Elmo Works was founded by Fenn Garrow."),
    ]
)
QUESTION = MusiqueQuestion(
    "q", "Who founded the firm that built Aldera?", "Ada Quill", hops=(("builder", "Aldera"), ("founder", "#1"))
)
MUCH = Budget.of(steps=20, usd=20, seconds=60)


def honest(request: Request) -> str:
    """Reads what the passages state about the asked entity; nothing where they do not."""
    text, question = asked(request).split("\n\nQuestion: ")
    relation, _, subject = question.split("\n")[0].partition(" of ")
    pattern = {
        "builder": rf"(?P<name>[A-Z]\w+(?: [A-Z]\w+)*) built {subject}\b",
        "founder": rf"{subject} was founded by (?P<name>[A-Z]\w+(?: [A-Z]\w+)*)",
    }[relation]
    stated = re.search(pattern, text)
    return stated["name"] if stated else ""


def play(agent: type[Agent] = TapeAgent, seed: int = 0) -> EpisodeResult:
    return agent(look_up_script(QUESTION, honest)).run(MusiqueEnvironment(QUESTION, CORPUS), budget=MUCH, seed=seed)


@pytest.mark.parametrize(
    ("agent", "last"),
    [
        (TapeAgent, 'answer(value="Ada Quill")'),
        (ReactAgent, 'answer(value="Ada Quill")'),
        (PlanAndActReplanAgent, "answer(value=#2)"),
    ],
)
def test_answers_are_read_and_used_by_the_next_look_up(agent: type[Agent], last: str) -> None:
    results = [play(agent, seed) for seed in range(3)]
    solved = [result for result in results if result.success]
    assert solved, [result.end_state for result in results]
    for result in solved:
        assert result.measures == {"exact_match": 1.0, "f1": 1.0}
        assert result.actions[-1] == last
        assert result.lm_calls["project"] >= 2


def test_a_look_up_that_found_nothing_is_made_again_by_another_retriever() -> None:
    result = next(
        episode_result
        for seed in range(40)
        if (episode_result := play(TapeAgent, seed)).success and len(episode_result.actions) > 3
    )
    assert len(result.actions) == len(set(result.actions))  # never the same call twice
    assert result.lm_calls["plan"] == 1  # nobody is asked for that


def test_no_answer_measures_nothing() -> None:
    env = MusiqueEnvironment(QUESTION, CORPUS)
    result = TapeAgent(look_up_script(QUESTION, lambda _: "")).run(env, budget=MUCH)
    assert (result.success, result.measures) == (False, {"exact_match": 0.0, "f1": 0.0})
    assert result.end_state == "no_plan"
    assert len(result.actions) == len(set(result.actions)) == 5  # each retriever once


@pytest.mark.parametrize("calls", [3, 5, 6, 9, 13])
def test_under_a_cap_on_calls_a_path_that_starts_can_be_read_to_its_end(calls: int) -> None:
    env = MusiqueEnvironment(QUESTION, CORPUS)
    lm = look_up_script(QUESTION, honest)
    result = TapeAgent(lm, num_plans=1, execution="constrained").run(env, budget=MUCH | Budget({"calls": calls}))
    # Else it would run out in the middle, with what was paid for still to be read.
    assert result.end_state == "success" or not result.actions or result.lm_calls["plan"] > 1


def test_budgets_pay_for_their_retrievers() -> None:
    cheap, best = RETRIEVERS[2].worst, RETRIEVERS[4].worst
    for hops in (1, 2, 3, 4):
        tight, loose = (budget(hops, name) for name in TIGHTNESSES)
        assert all(tight[kind] >= hops * (cheap[kind] or 0) for kind in ("usd", "seconds"))
        assert all(loose[kind] >= hops * (best[kind] or 0) for kind in ("usd", "seconds"))
    with pytest.raises(MusiqueError, match="at least one hop"):
        budget(0, "tight")


def test_the_plugin_serves_own_and_public_questions(tmp_path: Path) -> None:
    options = {"data": None, "questions": "dev", "tightness": "tight"}
    tasks = PLUGIN.tasks(options)
    assert {task.level_set for task in tasks} == {"musique-dev-tight"}
    first, second = (PLUGIN.make(task) for task in tasks[:2])
    assert isinstance(first, MusiqueEnvironment)
    assert first is not second
    paragraphs = [{"idx": i, "title": p.title, "paragraph_text": p.text} for i, p in enumerate(CORPUS.passages)]
    public = record(question=QUESTION.text, answer=QUESTION.answer, paragraphs=paragraphs)
    [task] = PLUGIN.tasks({**options, "data": str(write(tmp_path, public))})
    env = PLUGIN.make(task)
    assert isinstance(env, MusiqueEnvironment)
    result = TapeAgent(look_up_script(QUESTION, honest)).run(env, budget=MUCH, seed=1)
    assert result.measures["f1"] in (0.0, 1.0)


def test_programs_may_say_what_is_read() -> None:
    program = (
        'ship = search("builder of Aldera")\nwho = ask("builder of Aldera", ship)\n'
        'firm = search(f"founder of {who}")\nanswer(ask(f"founder of {who}", firm))'
    )

    def reply(request: Request, sample: int) -> str:
        return honest(request) if request.role == "project" else program

    model = ScriptedLM(reply)
    result = TapeAgent(model).run(MusiqueEnvironment(QUESTION, CORPUS, reader="ask"), budget=MUCH, seed=1)
    assert (result.answer, result.success) == ("Ada Quill", True), result.detail
    [first, *_] = [request for request in model.requests if request.role == "plan"]
    assert 'ask("Who designed the Osprey Bridge?", bridge)' in str(first.prompt)
