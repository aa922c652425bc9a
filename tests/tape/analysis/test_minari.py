"""The Minari dataset of trajectories: it loads, gives back every transition, and touches nothing else."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tape.analysis.minari_export import export_minari, markov_state
from tape.analysis.transitions import transitions
from tape.errors import ConfigError, MissingExtraError
from tests.tape.sdp.synthetic import trajectory
from tests.tape.sdp.worked import WORKED

MADE = [made for made in (WORKED, *map(trajectory, range(30))) if made.moves]


def test_a_dataset_gives_back_every_transition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minari = pytest.importorskip("minari")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("MINARI_DATASETS_PATH", raising=False)
    path = export_minari(MADE, tmp_path / "sets", "sdp/toy-v0")
    dataset = minari.MinariDataset(path)
    assert (dataset.total_episodes, dataset.total_steps) == (len(MADE), sum(len(made.moves) for made in MADE))
    metadata = dataset.storage.metadata
    for made, episode in zip(MADE, dataset.iterate_episodes(), strict=True):
        found = transitions(made)
        assert episode.observations["text"][:-1] == [markov_state(one) for one in found]
        last = json.loads(episode.observations["text"][-1])
        assert (tuple(last["certified"]), tuple(last["tail"])) == (found[-1].next_certified, found[-1].next_tail)
        keys = [metadata["sdp_keys"][key] for key in episode.observations["key"]]
        assert keys == [*(one.node for one in found), found[-1].next_node]
        assert episode.actions["text"] == [one.action or "" for one in found]
        assert [metadata["sdp_actions"][code] for code in episode.actions["code"]] == episode.actions["text"]
        assert np.array_equal(episode.rewards, [one.k for one in found])
        assert list(episode.terminations) == [one.terminated for one in found]
        assert list(episode.truncations) == [one.truncated for one in found]
        for text in episode.observations["text"]:
            assert dataset.observation_space["text"].contains(text)
        for text in episode.actions["text"]:
            assert dataset.action_space["text"].contains(text)
    options = [metadata["options"] for metadata in dataset.storage.get_episode_metadata(range(len(MADE)))]
    assert [(one["episode"], one["success"], one["score"]) for one in options] == [
        (made.origin.episode, made.ending.success, made.ending.score) for made in MADE
    ]
    assert list(home.iterdir()) == []
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "sets"))
    assert minari.load_dataset("sdp/toy-v0").total_steps == dataset.total_steps


def test_bad_requests_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("minari")
    with pytest.raises(ConfigError, match="no attempt"):
        export_minari([], tmp_path)
    for name in ("no version", "x", "../up-v0"):
        with pytest.raises(ConfigError, match="NAMESPACE/NAME-v0"):
            export_minari(MADE, tmp_path, name)
    export_minari(MADE[:1], tmp_path)
    with pytest.raises(ConfigError, match="there already"):
        export_minari(MADE[:1], tmp_path)


def test_without_minari_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(MissingExtraError, match=r"tape-planner\[minari\]"):
        export_minari(MADE, tmp_path)
