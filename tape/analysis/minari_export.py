"""Certified trajectories as a Minari dataset, for learners that take offline data in Gymnasium's form.

An episode of the dataset is an episode of SDP; a step is one attempt, the rejected ones included; the reward is k;
``terminations`` say that the goal was certified, the task done, or that the environment ended the episode,
``truncations`` that a cap, a budget, a missing chain or a fault did.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tape.analysis.transitions import Transition, transitions
from tape.errors import ConfigError
from tape.plugins import require_extra
from tape.sdp.trajectory import CertifiedTrajectory

FORMAT = "arrow"
"""Minari's storage that needs nothing but pyarrow and pillow."""

ABOUT = (
    "Certified predicate chains (SDP). observation.text: the Markov state as JSON: certified predicates, fields, node, "
    "plan tail and failed attempts at the target. observation.key: the number of the abstract state in sdp_keys. "
    "action.text: the action, empty where none could be written; action.code: its number in sdp_actions. Reward: k, "
    "the number of predicates certified."
)


def export_minari(
    trajectories: Iterable[CertifiedTrajectory], root: Path, dataset_id: str = "sdp/trajectories-v0"
) -> Path:
    """Write a dataset.

    Nothing is written elsewhere: ``minari.MinariDataset(path)`` reads what is returned, and so does
    ``minari.load_dataset(dataset_id)`` where ``MINARI_DATASETS_PATH`` is ``root``.

    Args:
        trajectories: The trajectories; those without an attempt are left out.
        root: A folder of datasets.
        dataset_id: Name of the dataset, ``NAMESPACE/NAME-vN``.

    Returns:
        The dataset's folder.

    Raises:
        MissingExtraError: minari or what it needs is not installed.
        ConfigError: There is no attempt at all, the name is malformed, or the dataset is there already.
    """
    # minari's arrow storage needs pyarrow and Pillow
    require_extra("minari", "minari", "gymnasium", "pyarrow", "PIL", what="the export")
    import minari
    from minari.data_collector.episode_buffer import EpisodeBuffer
    from minari.dataset.minari_dataset import parse_dataset_id
    from minari.dataset.minari_storage import MinariStorage

    try:
        parse_dataset_id(dataset_id)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{dataset_id!r} is no name of a Minari dataset; use NAMESPACE/NAME-v0") from error
    episodes = [found for found in map(transitions, trajectories) if found]
    if not episodes:
        raise ConfigError("there is no attempt in these trajectories, so there is no dataset to write")
    path = root / dataset_id / "data"
    if path.exists():
        raise ConfigError(f"{path} is there already; remove it or choose another name")
    keys = sorted({key for found in episodes for one in found for key in (one.node, one.next_node)})
    actions = sorted({one.action or "" for found in episodes for one in found})
    buffers = [_buffer(EpisodeBuffer, number, found, keys, actions) for number, found in enumerate(episodes)]
    path.mkdir(parents=True)
    storage = MinariStorage.new(
        path,
        observation_space=_space("key", len(keys), [text for b in buffers for text in b.observations["text"]]),
        action_space=_space("code", len(actions), actions),
        data_format=FORMAT,
    )
    storage.update_metadata(
        {
            "dataset_id": dataset_id,
            "minari_version": minari.__version__,
            "algorithm_name": ", ".join(sorted({one.agent for found in episodes for one in found})),
            "description": ABOUT,
            "sdp_keys": keys,
            "sdp_actions": actions,
        }
    )
    storage.update_episodes(buffers)
    return path


def _space(code: str, count: int, texts: Sequence[str]) -> Any:
    """A text and its number, wide enough for what was written."""
    from gymnasium.spaces import Dict, Discrete, Text

    letters = "".join(sorted({letter for text in texts for letter in text})) or " "
    longest = max(1, *map(len, texts))
    return Dict({"text": Text(longest, min_length=0, charset=letters), code: Discrete(count)})


def _buffer(make: Any, number: int, found: Sequence[Transition], keys: Sequence[str], actions: Sequence[str]) -> Any:
    key, code = {name: i for i, name in enumerate(keys)}, {name: i for i, name in enumerate(actions)}
    first, last = found[0], found[-1]
    after = _json(last.next_certified, last.next_fields, last.next_node, last.next_tail, ())
    options = {"episode": first.episode, "environment": first.environment, "task": first.task, "repeat": first.repeat}
    return make(
        id=number,
        options={**options, "success": first.success, "score": first.score},
        observations={
            "text": [*map(markov_state, found), after],
            "key": [*(key[one.node] for one in found), key[last.next_node]],
        },
        actions={"text": [one.action or "" for one in found], "code": [code[one.action or ""] for one in found]},
        rewards=[float(one.k) for one in found],
        terminations=[one.terminated for one in found],
        truncations=[one.truncated for one in found],
    )


def markov_state(one: Transition) -> str:
    """(s, plan tail, attempts) before an attempt, as JSON."""
    return _json(one.certified, one.fields, one.node, one.tail, one.attempts)


def _json(certified: Sequence[str], fields: str, node: str, tail: Sequence[str], attempts: Sequence[str]) -> str:
    state = {"certified": certified, "fields": json.loads(fields), "node": node, "tail": tail, "attempts": attempts}
    return json.dumps(state, sort_keys=True)
