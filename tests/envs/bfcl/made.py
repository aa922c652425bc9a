"""A made wheel: eight small APIs in the form of BFCL's, and a conversation of each kind. Nothing in it is BFCL's."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from envs.bfcl import source
from envs.bfcl.source import KINDS, LONG, MODULES

FILES = """
import datetime
import random
import socket
import subprocess
from bfcl_eval.eval_checker.multi_turn_eval.func_source_code.long_context import MORE


class Note:
    def __init__(self, text):
        self.text, self._last_modified = text, datetime.datetime.now()

    def __eq__(self, other):
        return self.text == other.text


class GorillaFileSystem:
    def __init__(self):
        self.notes, self._drawn = {}, random.Random(1)

    def _load_scenario(self, scenario, long_context=False):
        self.notes = {name: Note(text) for name, text in scenario.get("notes", {}).items()}
        if long_context:
            self.notes["more"] = Note(MORE)

    def cat(self, file_name):
        if file_name not in self.notes:
            return {"error": f"there is no {file_name}"}
        return {"file_content": self.notes[file_name].text}

    def touch(self, file_name):
        self.notes[file_name] = Note("")

    def rm(self, file_name):
        del self.notes[file_name]
        return {"result": "gone"}

    def echo(self, content, file_name=None):
        if file_name is None:
            return content
        self.notes[file_name] = Note(content)
        return {"drawn": self._drawn.randrange(100)}

    def reach(self):
        socket.create_connection(("127.0.0.1", 9))

    def start(self):
        subprocess.run(["true"])
"""


def _function(name: str, *required: str, **optional: str) -> dict[str, Any]:
    kinds = {**dict.fromkeys(required, "string"), **optional}
    properties = {text: {"type": kind, "description": f"The {text}."} for text, kind in kinds.items()}
    parameters = {"type": "dict", "properties": properties, "required": list(required)}
    return {"name": name, "description": f"An API. Tool description: Do {name}.", "parameters": parameters}


DOCUMENTS = [
    _function("cat", "file_name"), _function("touch", "file_name"), _function("rm", "file_name"),
    _function("echo", "content", file_name="string"), _function("reach"), _function("start"),
    _function("wc", "file_name", mode="float"),
]  # fmt: skip
BASE: dict[str, Any] = {
    "id": "multi_turn_base_0",
    "question": [[{"role": "user", "content": "Copy a to b."}], [{"role": "user", "content": "Remove a."}]],
    "initial_config": {"GorillaFileSystem": {"notes": {"a": "text of a"}}},
    "involved_classes": ["GorillaFileSystem"],
    "excluded_function": ["wc"],
}
GOLD = [["cat('a')", "echo(content='text of a', file_name='b')"], ["rm(file_name='a')"]]


def wheel(folder: Path) -> Path:
    """Write it; returns the folder to name."""
    written: dict[str, str] = {}
    for name, module in MODULES.items():
        empty = f"class {name}:\n    def __init__(self):\n        self._api_description = ''\n"
        written[f"{source._CODE}/{module}.py"] = FILES if name == "GorillaFileSystem" else empty
        documents = DOCUMENTS if name == "GorillaFileSystem" else []
        written[f"{source._DOCS}/{module}.json"] = "\n".join(map(json.dumps, documents))
    written[f"{source._CODE}/{LONG}.py"] = "MORE = 'long ' * 100\n"
    for kind in KINDS:
        mapping, gold = {**BASE, "id": f"multi_turn_{kind}_0"}, GOLD
        if kind == "miss_func":
            mapping |= {"question": [*BASE["question"][:1], BASE["question"][1], []], "missed_function": {"2": ["rm"]}}
            gold = [GOLD[0], [], GOLD[1]]
        written[f"data/BFCL_v4_multi_turn_{kind}.json"] = json.dumps(mapping) + "\n"
        answer = {"id": mapping["id"], "ground_truth": gold}
        written[f"data/possible_answer/BFCL_v4_multi_turn_{kind}.json"] = json.dumps(answer) + "\n"
    for name, text in written.items():
        file = folder / "bfcl_eval" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def hashes(folder: Path) -> dict[str, str]:
    """The hashes of its files."""
    root = folder / "bfcl_eval"
    files = [file for file in root.rglob("*") if file.is_file()]
    return {file.relative_to(root).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
