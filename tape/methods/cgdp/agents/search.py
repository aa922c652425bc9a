"""The base of search agents: begin and end of the search for every harness (CGDP section 4, table 2).

A harness is one file: a subclass of :class:`SearchAgent` with its number of rounds and its loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, cast

from tape.agents.base import Agent
from tape.budget import Budget, Ledger
from tape.engine.context import unplayed
from tape.engine.episode import Episode, EpisodeEnded
from tape.engine.settings import TapeConfig
from tape.errors import BudgetExceededError, ConfigError
from tape.lm.base import LanguageModel
from tape.methods.cgdp.context import PromptWindow
from tape.methods.cgdp.gates import fixed_rounds
from tape.methods.cgdp.prompts import MoveKind, SearchFormat
from tape.methods.cgdp.search import CorpusSearch
from tape.methods.cgdp.settings import CgdpSettings, Memory
from tape.protocols import Environment


class SearchAgent(Agent):
    """Searches for some rounds, then answers from its memory.

    Args:
        model: A model or its name, for instance ``smollm2``.
        config: The settings; or give them as keyword arguments.
        settings: Fields of :class:`tape.methods.cgdp.settings.CgdpSettings`, for instance ``context_tokens=384``, or of
            :class:`tape.engine.settings.TapeConfig`.

    Raises:
        ConfigError: A switch is out of range or contradicts the agent, or both ``config`` and ``settings`` are given.
        UnknownNameError: There is no such model.
    """

    methods: ClassVar[tuple[str, ...]] = ("cgdp",)
    searches: ClassVar[bool] = True
    rounds: ClassVar[int]
    """Most rounds, as in the paper."""
    usual_memory: ClassVar[Memory] = "baseline"
    memories: ClassVar[tuple[Memory, ...]] = ("baseline", "lobotomized", "structured", "freeform")
    moves: ClassVar[tuple[MoveKind, ...]] = ()
    """Moves that the model may choose; empty: it is not asked."""
    selections: ClassVar[tuple[str, ...]] = ("lm",)
    persists: ClassVar[bool] = False
    """Whether it has open predicates to pursue."""

    def __init__(self, model: LanguageModel | str, config: TapeConfig | None = None, **settings: Any) -> None:
        own = {name: settings.pop(name) for name in [*settings] if name in CgdpSettings.model_fields}
        if own:
            given = settings.get("cgdp") or {}
            before = given if isinstance(given, Mapping) else given.model_dump(exclude_unset=True)
            settings["cgdp"] = {**before, **own}
        super().__init__(model, config, **settings)

    @classmethod
    def configure(cls, config: TapeConfig) -> TapeConfig:
        """Set the defaults of the harness."""
        given = CgdpSettings.find(config) or CgdpSettings()
        usual: Memory = "structured" if given.verify == "aec" and cls.usual_memory == "baseline" else cls.usual_memory
        settings = given.model_copy(update={"memory": given.memory or usual, "rounds": given.rounds or cls.rounds})
        if settings.memory not in cls.memories:
            raise ConfigError(f"{cls.name} has no memory={settings.memory!r}; it has: {', '.join(cls.memories)}")
        if settings.select not in cls.selections:
            raise ConfigError(f"select={settings.select!r} means nothing to {cls.name!r}; take the agent 'cgdp'")
        if settings.persist and not cls.persists:
            raise ConfigError(f"persist means nothing to {cls.name!r}, which pursues no predicates; take 'cgdp'")
        if settings.select == "solver" and settings.memory != "structured":
            raise ConfigError(
                f"select='solver' chooses among open predicates, which memory={settings.memory!r} does not hold; take "
                "structured"
            )
        if settings.gate != "none" and settings.rounds == 1:
            raise ConfigError(
                f"gate={settings.gate!r} on a harness of one round has nothing to stop; leave the gate out, "
                "or give more rounds"
            )
        most = settings.rounds or cls.rounds
        if (fixed_rounds(settings.gate) or 0) > most:
            raise ConfigError(
                f"gate={settings.gate!r} never stops a search of {most} rounds; stop earlier, or give more"
            )
        return config.using("cgdp", settings)

    @classmethod
    def require(cls, config: TapeConfig, env: Environment) -> None:
        """Refuse an environment that cannot be searched."""
        super().require(config, env)
        if env.domain.search_task is None:
            raise ConfigError(
                f"the agent {cls.name!r} searches a corpus, and {type(env).__name__} has none; take 'tape', or play "
                "locomo, repo_qa, musique_search or hotpot_search"
            )

    @classmethod
    def require_context_budget(
        cls, config: TapeConfig, tasks: Iterable[tuple[str, Environment]], model: LanguageModel
    ) -> None:
        """Refuse a window or a belief cap that is too small for any of some tasks.

        Args:
            config: Resolved.
            tasks: Names and environments of the tasks.
            model: Counts the tokens.
        """
        worst: tuple[int, str, PromptWindow] | None = None
        refused = ""
        for name, env in tasks:
            cls.require(config, env)
            search = cls._unplayed(config, env, model)
            least = search.context_budget.least(cls.moves)
            if worst is None or least > worst[0]:
                worst = least, name, search.window
            if not refused and least <= (search.window.limit or least):
                try:
                    search.context_budget.make()
                except ConfigError as error:
                    refused = f"task {name!r}: {error}"
        if worst is not None:
            least, name, window = worst
            try:
                window.require(least)
            except ConfigError as error:
                raise ConfigError(f"task {name!r}, which needs most: {error}") from None
        if refused:
            raise ConfigError(refused)

    @classmethod
    def _unplayed(cls, config: TapeConfig, env: Environment, model: LanguageModel) -> CorpusSearch:
        """A search that is not played, for its sizes."""
        roles, ledger = unplayed(env, model), Ledger(Budget())
        episode = Episode(env, config, ledger, roles.trace, roles, 0, None)
        return cls._search(episode)

    @staticmethod
    def _search(episode: Episode) -> CorpusSearch:
        task = episode.env.domain.search_task
        assert task is not None
        # The prompts of a search environment have this type.
        prompts = cast("SearchFormat", episode.roles.prompt_format)
        return CorpusSearch(episode, CgdpSettings.of(episode.config), task, prompts)

    @classmethod
    def most_lm_calls(cls, config: TapeConfig, steps: int, longest_plan: int) -> int:
        """A move, a reading and a curation in every round, and the answer; a note is a round without a step."""
        del steps, longest_plan
        settings = CgdpSettings.find(config) or CgdpSettings()
        verdicts = settings.k_trigger if settings.persist else 0
        return (3 + verdicts) * (settings.rounds or cls.rounds) + 1

    async def _play(self, episode: Episode) -> None:
        search = self._search(episode)
        try:
            search.begin(self.moves)
            try:
                reason = await self.searched(search)
            except BudgetExceededError as error:
                reason = f"the budget ended it: {error}"
            except EpisodeEnded as end:
                if not end.limit:
                    raise
                reason = f"a limit ended it: {end.end_state}"
            await search.answer(reason)
        finally:
            search.drop()

    async def searched(self, search: CorpusSearch) -> str:
        """Search; returns why it stopped. A budget or a limit may end it at any point.

        By default the model chooses every move among :attr:`moves`.
        """
        rounds = self.most_rounds(search)
        for _ in range(rounds):
            move = await search.move(self.moves)
            if move is None:
                if search.rounds:
                    return "what to do next could not be read"
                query, thought = search.domain.question, ""
            elif move.kind == "answer":
                search.think_aloud(move.thought)
                return "the model chose to answer"
            elif move.kind == "note":
                search.notes.append(move.text)
                continue
            else:
                query, thought = move.text, move.thought
            await search.retrieve(query, thought=thought)
            if reason := search.exhausted():
                return reason
        return f"all {rounds} rounds are used"

    @staticmethod
    def most_rounds(search: CorpusSearch) -> int:
        """Rounds of this search."""
        assert search.settings.rounds is not None
        return search.settings.rounds
