"""Questions for search agents: four plug-ins against the same demands, and what each has of its own."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from envs.data_files import DataFileError
from envs.hotpotqa.search_plugin import PLUGIN as HOTPOT
from envs.locomo.generator import dialogues
from envs.locomo.plugin import PLUGIN as LOCOMO
from envs.musique.corpus import load_corpus, load_questions
from envs.musique.errors import MusiqueError
from envs.musique.evidence import gold_chain, public_gold
from envs.musique.scripted_reader import read
from envs.musique.search_plugin import OWN, own
from envs.musique.search_plugin import PLUGIN as MUSIQUE
from envs.repo_qa import RepoQaError
from envs.repo_qa.errors import SkippedFilesWarning
from envs.repo_qa.plugin import PLUGIN as REPO_QA
from envs.search import SearchEnvironment
from tape.plugins import load
from tape.protocols import EnvironmentPlugin, Task
from tests.envs.hotpotqa.test_loader import record as hotpot_record
from tests.envs.locomo.helpers import conversation
from tests.envs.locomo.helpers import write as write_talks
from tests.envs.musique.test_loader import record as musique_record
from tests.envs.repo_qa.helpers import write_shop

MUSIQUE_RECORD = musique_record()
HOTPOT_RECORD = hotpot_record(supporting_facts=[["Aldera", 0], ["Belmar Yards", 0], ["Aldera", 1]])


def public(folder: Path, *records: object, array: bool = False) -> str:
    """A file with one record a line, or with an array of records."""
    file = folder / "public.jsonl"
    text = json.dumps(records) if array else "".join(json.dumps(record) + "\n" for record in records)
    file.write_text(text, encoding="utf-8")
    return str(file)


@dataclass(frozen=True)
class Kind:
    """A plug-in.

    Attributes:
        plugin: The plug-in.
        level_set: The name of its own set of questions.
        error: The error that it raises.
        public: Writes a public file and returns options that name it; None where there are no such files.
        refused: Options that contradict each other, and the error's message; ``FILE`` stands for a public file.
        own: Options that name its own set.
    """

    plugin: EnvironmentPlugin
    level_set: str
    error: type[Exception]
    public: Callable[[Path], list[str]] | None
    refused: tuple[tuple[list[str], str], ...]
    own: tuple[str, ...] = ()

    def tasks(self, *arguments: str) -> list[Task]:
        """The tasks that options of the command line name."""
        parser = argparse.ArgumentParser()
        self.plugin.add_arguments(parser)
        return self.plugin.tasks(vars(parser.parse_args(arguments)))

    def made(self, task: Task) -> SearchEnvironment:
        """The environment of a task."""
        environment = self.plugin.make(task)
        assert isinstance(environment, SearchEnvironment)
        return environment


_PUBLIC = ((["--pooled"], "add --data FILE"), (["--questions", "dev", "--data", "FILE"], "leave it out beside --data"))
KINDS = {
    "musique_search": Kind(
        MUSIQUE, "musique-dev-own-corpus-bm25", MusiqueError, lambda folder: ["--data", public(folder, MUSIQUE_RECORD)],
        _PUBLIC,
    ),
    "hotpot_search": Kind(
        HOTPOT,
        "hotpotqa-dev-own-corpus-bm25",
        MusiqueError,
        lambda folder: ["--data", public(folder, HOTPOT_RECORD, array=True)],
        (
            *_PUBLIC,
            (["--data", "FILE", "--sub-questions", "gold"], "has no gold sub-questions; leave --sub-questions at none"),
        ),
    ),
    "locomo": Kind(
        LOCOMO,
        "locomo-dev-own-corpus-bm25",
        ValueError,
        lambda folder: ["--data", str(write_talks(folder, conversation(), conversation(sample_id="conv-2")))],
        (
            (["--categories", "4"], "add --data FILE"),
            (["--data", "FILE", "--part", "dev"], "leave it out beside --data"),
            (["--data", "FILE", "--sub-questions", "gold"], "a public file has none"),
            (["--data", "FILE", "--categories", "4,6"], "numbers such as 4,5, each once of 1, 2, 3, 4, 5; got '4,6'"),
            (["--data", "FILE", "--categories", "4,4"], "each once"),
            (["--data", "FILE", "--categories", ""], "numbers such as"),
        ),
    ),
    "repo_qa": Kind(
        REPO_QA,
        "json-generated-dev-bm25",
        RepoQaError,
        None,
        (
            (["--package", "json", "--repo", "."], "give one of them"), (["--package", ""], "is empty"),
            (["--repo", "no/such/folder"], "name the folder"), (["--package", "this"], "nothing can be asked"),
        ),
        ("--package", "json"),
    ),
}  # fmt: skip
every = pytest.mark.parametrize("name", KINDS)


@every
def test_own_questions_are_labelled_and_found_by_name(name: str) -> None:
    kind = KINDS[name]
    result = kind.tasks(*kind.own)
    assert load("tape.environments", name) is kind.plugin
    assert {task.level_set for task in result} == {kind.level_set}
    assert {dict(task.budget)["steps"] for task in result} == {30}
    assert len({task.digest for task in result}) == len({task.id for task in result}) == len(result) > 10
    if name == "musique_search":
        measured, other, _ = kind.made(result[0]).domain.options()
        assert measured.success == result[0].facts["retrieval"].calibration(OWN)["bm25-5"] != other.success
    named = kind.tasks(*kind.own, "--depths", "3,7")
    assert {task.level_set for task in named} == {f"{kind.level_set}-depths-3-7"}
    assert named[0].digest != result[0].digest


@every
def test_the_gold_path_succeeds_and_is_given_where_it_is_asked_for_alone(name: str) -> None:
    kind = KINDS[name]
    plain = kind.tasks(*kind.own)
    given = kind.tasks(*kind.own, "--sub-questions", "gold", "--depths", "10")
    assert {task.level_set for task in given} == {f"{kind.level_set}-depths-10-gold-sub-questions"}
    assert not {task.digest for task in plain} & {task.digest for task in given}
    for bare, task in list(zip(plain, given, strict=True))[:12]:
        assert kind.made(bare).domain.sub_questions == ()
        env = kind.made(task)
        answers, evidence = env.gold()
        for answer in ("nobody", *answers):
            env.reset(0)
            for asked in env.domain.sub_questions:
                env.step(env.domain.search(asked, env.domain.options()[0]))
            env.step(env.domain.answer(answer))
            assert env.success() == (answer != "nobody")
        assert ("evidence_recall" in env.measures()) == bool(evidence)
        if name in ("musique_search", "hotpot_search"):
            assert env.measures()["evidence_recall"] == 1


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.public])
def test_public_files_are_played(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    assert kind.public is not None
    result = kind.tasks(*kind.public(tmp_path))
    assert {task.level_set for task in result} <= {"public-bm25", "talks-bm25"}
    assert not {task.digest for task in result} & {task.digest for task in kind.tasks(*kind.own)}
    env = kind.made(result[0])
    env.reset(0)
    env.step(env.domain.answer(env.answers[0]))
    assert env.success()


@pytest.mark.parametrize(
    ("name", "arguments", "problem"), [(name, *each) for name, kind in KINDS.items() for each in kind.refused]
)
def test_options_that_contradict_each_other(name: str, arguments: list[str], problem: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    file = kind.public(tmp_path)[-1] if kind.public else ""
    with pytest.raises(kind.error) as caught:
        kind.tasks(*(file if each == "FILE" else each for each in arguments))
    assert problem in str(caught.value)


def test_the_evidence_of_our_own_questions_answers_them() -> None:
    result = KINDS["musique_search"].tasks()
    assert [task.id for task in result] == [question.id for question in load_questions("dev")]
    corpus = {passage.id: passage for passage in load_corpus()}
    for each in own("dev"):
        chain = gold_chain(each.question, load_corpus())
        assert chain is not None
        assert len(each.gold.evidence) == len(each.gold.sub_questions) == len(each.question.hops or ())
        for name, asked, (query, answer, _) in zip(each.gold.evidence, each.gold.sub_questions, chain, strict=True):
            assert read(query, [corpus[name]]) == answer
            assert asked.endswith("?")
            assert query.partition(" of ")[2] in asked  # what the hops before led to is filled in
    two = KINDS["hotpot_search"]
    assert {len(two.made(task).domain.sub_questions) for task in two.tasks("--sub-questions", "gold")} == {2}


def test_paragraphs_of_a_public_file_may_be_pooled(tmp_path: Path) -> None:
    second = {**MUSIQUE_RECORD, "id": "2hop__3_4", "question": "Who leads the town where Ada was born?"}
    kind, data = KINDS["musique_search"], public(tmp_path, MUSIQUE_RECORD, second)
    env = kind.made(kind.tasks("--data", data, "--sub-questions", "gold")[0])
    assert env.domain.sub_questions == ("Ada >> place of birth", "mayor of Tarn")
    assert env.gold() == (("Otto Lind", "Lind"), ("2", "0"))
    pooled = kind.tasks("--data", data, "--pooled")
    assert pooled[0].level_set == "public-pooled-bm25"
    assert kind.made(pooled[1]).gold()[1] == ("p3", "p1")
    seen, _ = kind.made(pooled[1]).step("search bm25-5: Ada Tarn Holm")
    assert {passage.id for passage in seen.data} == {"p1", "p2", "p3"}

    other = {**HOTPOT_RECORD, "_id": "q2", "context": [["Lin", ["Lin is a town."]], *HOTPOT_RECORD["context"]]}
    kind, data = KINDS["hotpot_search"], public(tmp_path, HOTPOT_RECORD, other, array=True)
    assert [kind.made(task).gold()[1] for task in kind.tasks("--data", data)] == [("0", "1"), ("1", "2")]
    assert [kind.made(task).gold()[1] for task in kind.tasks("--data", data, "--pooled")] == [("p1", "p2")] * 2
    with pytest.raises(DataFileError, match="field 'context': is empty: there is nothing to search for '5a8b'"):
        kind.tasks("--data", public(tmp_path, {**HOTPOT_RECORD, "context": []}, array=True))


STEP = {"question": "a", "answer": "b", "paragraph_support_idx": 0}


@pytest.mark.parametrize(
    ("steps", "field", "message"),
    [
        ([], "", "is missing or empty"),
        (["text"], "[0]", "is no object with the texts question and answer"),
        ([STEP | {"paragraph_support_idx": None}], "[0].paragraph_support_idx", "is None; give the idx of a paragraph"),
        ([STEP | {"question": "a of #1"}], "[0].question", "refers to a step that is not before it"),
    ],
)
def test_files_with_no_gold_answer_of_a_step(steps: list[Any], field: str, message: str, tmp_path: Path) -> None:
    data = public(tmp_path, MUSIQUE_RECORD, {**MUSIQUE_RECORD, "id": "2hop__5_6", "question_decomposition": steps})
    with pytest.raises(DataFileError, match=message) as caught:
        KINDS["musique_search"].tasks("--data", data)
    assert (caught.value.place, caught.value.field) == (2, f"question_decomposition{field}")
    unanswerable = {**MUSIQUE_RECORD, "id": "x", "answerable": False}
    assert set(public_gold(Path(public(tmp_path, MUSIQUE_RECORD, unanswerable)))) == {"2hop__1_2"}


def test_conversations_take_turns_and_their_questions_share_one_index() -> None:
    kind = KINDS["locomo"]
    dev, test = kind.tasks(), kind.tasks("--part", "test")
    assert {task.level_set for task in test} == {"locomo-test-own-corpus-bm25"}
    assert [task.id for task in dev[:7]] == [f"dev-{n}-q1" for n in range(6)] + ["dev-0-q2"]
    assert (len(dev), len(test)) == (120, 240)
    assert len({task.digest for task in (*dev, *test)}) == 360
    assert Counter(task.facts["kind"] for task in dev) == {"single": 48, "two": 36, "swapped": 36}
    assert {task.facts["hops"] for task in dev} == {0, 1, 2}
    assert dev[0].facts["dialogue"] is dev[6].facts["dialogue"]
    first, again = kind.made(dev[0]), kind.made(dev[6])
    assert first._indexes["bm25"] is again._indexes["bm25"]
    assert first.domain.noun == "turn of a conversation"
    given = kind.made(kind.tasks("--sub-questions", "gold")[6])
    assert given.domain.sub_questions == dialogues("dev")[0].questions[1].sub_questions != ()


def test_categories_of_public_conversations(tmp_path: Path) -> None:
    kind = KINDS["locomo"]
    data = ["--data", str(write_talks(tmp_path, conversation(), conversation(sample_id="conv-2")))]
    result, more = kind.tasks(*data), kind.tasks(*data, "--categories", "4, 1,2")
    assert [task.id for task in result] == ["conv-1-q1", "conv-2-q1", "conv-1-q2", "conv-2-q2"]
    assert [task.facts["hops"] for task in result[::2]] == [1, 0]
    assert {task.level_set for task in more} == {"talks-categories-1-2-4-bm25"}
    assert [task.id for task in more[::2]] == ["conv-1-q1", "conv-1-q3", "conv-1-q4"]
    assert [task.digest for task in more if task.id == "conv-1-q1"] == [result[0].digest]
    seen, _ = kind.made(result[0]).step("search bm25-5: Tarn aunt")
    assert [passage.title for passage in seen.data] == ["Otto"]


def test_parts_of_a_folder_are_disjoint_and_skipped_files_are_reported(tmp_path: Path) -> None:
    kind, where = KINDS["repo_qa"], ("--repo", str(write_shop(tmp_path)))
    (tmp_path / "broken.py").write_text("def f(:\n")
    with pytest.warns(SkippedFilesWarning, match=r"1 files were left out \(a syntax error 1\), the first 'broken.py'"):
        dev, test = kind.tasks(*where), kind.tasks(*where, "--part", "test")
    assert {task.level_set for task in test} == {f"{tmp_path.name}-generated-test-bm25"}
    assert not {task.id for task in dev} & {task.id for task in test}
    assert kind.made(dev[0]).domain.noun == "piece of code"
