"""Tasks over the recorded web, for the command line and the runner."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from envs.data_files import DataFileError
from envs.web_qa.environment import CAPS, WebEnvironment
from envs.web_qa.web import DATA, Web, WebPage, load_pages, load_tasks
from tape.protocols import Environment, EnvironmentPlugin, Task


class WebPlugin(EnvironmentPlugin):
    """Questions answered by searching and reading pages, as in AssistantBench."""

    name = "web_qa"
    prompt_version = "2"
    roles = ("act", "propose", "query", "realize", "validate", "answer")
    cases = "envs.web_qa.role_cases"
    model = "simulated:web_qa"
    agent = "react"
    built_on = ("envs.search", "tape.tools")
    reads = False
    replayable = True

    def add_arguments(self, parser: Any) -> None:
        """``--data`` and ``--pages``."""
        parser.add_argument(
            "--data", help="tasks in AssistantBench's format, JSON Lines; needs --pages and a general LM"
        )
        parser.add_argument(
            "--pages", metavar="DIR", help="a folder of recorded pages, pages*.jsonl (default: our own)"
        )

    def tasks(self, options: Mapping[str, Any]) -> list[Task]:
        """One task per line."""
        data, folder = options.get("data"), options.get("pages")
        if data and not folder:
            raise DataFileError(
                data, "", "", "has tasks on the live web, of which no record is shipped; give --pages DIR"
            )
        pages = load_pages(Path(folder)) if folder else load_pages()
        result = load_tasks(Path(data) if data else DATA / "tasks.jsonl")
        web = hashlib.sha256(repr(pages).encode()).hexdigest()
        return [
            Task(
                id=task.id,
                level_set=Path(data).stem if data else "web_qa",
                budget=CAPS,
                digest=hashlib.sha256(f"{task} {web}".encode()).hexdigest()[:16],
                facts={"task": task, "pages": pages, "text": task.text, "difficulty": task.difficulty},
            )
            for task in result
        ]

    def make(self, task: Task) -> Environment:
        """A fresh environment."""
        return WebEnvironment(task.facts["task"], _web(task.facts["pages"]))


@lru_cache(maxsize=2)
def _web(pages: tuple[WebPage, ...]) -> Web:
    """Pages, indexed once."""
    return Web(pages)


PLUGIN = WebPlugin()
