"""Workers on a Ray cluster; needs the extra ``ray``."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tape.errors import BudgetExceededError, ConfigError
from tape.lm.registry import open_model as open_by_name
from tape.plugins import require_extra
from tape.runner.play import Models, Opener, Pool, WorkerError, WorkReply, answer
from tape.runner.run_ledger import RunLedger
from tape.runner.work import Keep, Played, Watcher, Work

LOCAL = "ray:local"
LOCAL_CPUS = 2
AHEAD = 2
"""Batches submitted per processor: one is played, one waits, so that no processor is idle."""
HINT = (
    " Check that the port is that of its Ray Client server and, where it asks for a token, that RAY_AUTH_MODE and "
    "RAY_AUTH_TOKEN (or RAY_AUTH_TOKEN_PATH) are set here too"
)

NO_BUDGET = (
    "a run's budget cannot be shared with a Ray cluster; use --workers N on one machine, cap the episodes with "
    "--budget, or cap a scope of a ledger that all machines reach (--ledger postgresql://...)"
)

LATE = "timed out during startup"
"""Part of Ray's error if a machine is too busy."""

STARTS = 3

RETRIES = 1
"""How often a batch whose worker died is played again; each time its model calls are paid again (Ray's default: 3)."""

_LOOPBACK = "127.0.0.1"

_models: list[Models] = []
"""The open models of a Ray worker, which serves one pool."""


class RayPool(Pool):
    """Plays batches as Ray tasks. The machines need this package, of the same version, and the models.

    Raises:
        MissingExtraError: Ray is not installed.
        ConfigError: The address is neither.
        WorkerError: The cluster cannot be reached.
    """

    def __init__(self, address: str, open_model: Opener = open_by_name) -> None:
        if address != LOCAL and not (address.startswith("ray://") and len(address) > len("ray://")):
            raise ConfigError(f"a Ray cluster is ray://HOST:PORT or {LOCAL}, not {address!r}")
        require_extra("ray", "ray", what=f"--workers {address}")
        import ray

        self._ray, self._opener = ray, open_model
        quiet = {"log_to_driver": False, "logging_level": "warning"}
        try:
            if address == LOCAL:
                self._start_alone(**quiet)
                self._require_loopback()
            else:
                ray.init(address, **quiet)
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            hint = "" if address == LOCAL else HINT
            raise WorkerError(f"the Ray cluster {address} cannot be used: {error}.{hint}") from error
        self._remote = ray.remote(num_cpus=1, max_retries=RETRIES)(_remote)

    def play(self, work: Sequence[Work], watcher: Watcher, keep: Keep, run: RunLedger | None = None) -> None:
        """See :class:`~tape.runner.play.Pool`; the episodes of a batch come together when all have ended.

        Raises:
            ConfigError: The run has a budget of its own, which the machines of a cluster cannot share.
        """
        if run is not None and (run.budget or run.paid_from.shared is None):
            raise ConfigError(NO_BUDGET)
        waiting, running = deque(work), dict[Any, Work]()
        try:
            while running or (waiting and not (run is not None and run.refused)):
                # A cluster may grow meanwhile.
                free = max(1, int(self._ray.cluster_resources().get("CPU", 1)) * AHEAD) - len(running)
                begin = 0 if run is not None and run.refused else min(free, len(waiting))
                for item in [waiting.popleft() for _ in range(begin)]:
                    watcher.started(item)
                    # The machines of a cluster do not share a folder with this one.
                    paid_from = item.paid_from and replace(item.paid_from, file=None)
                    away = replace(item, unfinished=None, paid_from=paid_from)
                    running[self._remote.remote(away, self._opener)] = item
                for ended in self._ray.wait(list(running))[0]:
                    item = running.pop(ended)
                    reply, played = self._fetch(ended, item)
                    for episode in played:
                        keep(item, episode)
                    if reply.error is not None:
                        raise WorkerError(f"{item.configuration}: {reply.error}")
                    if reply.refused is not None and run is not None:
                        run.refused = BudgetExceededError(*reply.refused)
        finally:
            for handle in running:  # dropped
                self._ray.cancel(handle, force=True)

    def _start_alone(self, **quiet: Any) -> None:
        """Start a cluster that only this machine reaches."""
        from ray._private import ray_constants

        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves this machine
        # Unless other nodes are impossible, Ray's node uses the address of a network interface, and its servers listen
        # on all of them. Its processes read this from the environment; in this process it may be imported already.
        os.environ.setdefault(ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR, "0")
        usual, ray_constants.ENABLE_RAY_CLUSTER = ray_constants.ENABLE_RAY_CLUSTER, False
        try:
            for _ in range(STARTS):
                if self._started(**quiet):
                    return
            raise WorkerError(
                f"Ray did not start on this machine within {STARTS} times its limit of 30 s, which a busy machine may "
                "need; try again later, or use --workers N"
            )
        finally:
            ray_constants.ENABLE_RAY_CLUSTER = usual

    def _started(self, **quiet: Any) -> bool:
        """Whether the cluster started within Ray's own time limit, which cannot be changed."""
        try:
            # Without an address Ray would join any cluster that it finds on this machine.
            self._ray.init("local", num_cpus=LOCAL_CPUS, include_dashboard=False, _node_ip_address=_LOOPBACK, **quiet)
        except Exception as error:  # Ray raises nothing more specific
            if LATE not in str(error):
                raise
            self._ray.shutdown()
            return False
        return True

    def _require_loopback(self) -> None:
        """End a cluster that other machines can reach, because they could run programs here."""
        addresses = {node["NodeManagerAddress"] for node in self._ray.nodes()}
        if addresses - {_LOOPBACK, "::1"}:
            self._ray.shutdown()
            raise WorkerError(
                f"{LOCAL} would listen on {', '.join(sorted(addresses))}, where others reach it: this version of Ray "
                "does not keep to this machine; use --workers N"
            )

    def _fetch(self, handle: Any, item: Work) -> tuple[WorkReply, list[Played]]:
        try:
            reply, played = self._ray.get(handle)
        except self._ray.exceptions.RayError as error:
            raise WorkerError(
                f"a Ray task failed while it played {item.configuration!r}: {error}. Finished episodes are kept: "
                "repeat the command to go on"
            ) from error
        assert isinstance(reply, WorkReply)
        return reply, played

    def close(self) -> None:
        """Leave the cluster; a local one ends."""
        self._ray.shutdown()


def _remote(work: Work, opener: Opener) -> tuple[WorkReply, list[Played]]:
    """A Ray task. A worker process serves many, and keeps the models open between them."""
    if not _models:
        _models.append(Models(opener))
    played: list[Played] = []
    return answer(work, _models[0], played.append), played
