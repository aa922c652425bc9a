"""TextWorld's PDDL engine with what does not change computed once; the rules still run in the same compiled library.

TextWorld 1.7 translates a game four times to start it, and with every step it parses the templates of all commands,
copies all facts for each of them, and sorts and copies its way through the grammar: 10 to 40 steps a second. This
subclass keeps the translation, the commands of the operators and the parsed grammar. Observations, admissible commands
and the winning flag are those of the original; the tests play both side by side.

It overrides and relies on parts of TextWorld that are not its public interface, so :data:`VERSIONS` lists those for
which it was proven, and :mod:`envs.alfworld.game.textworld_game` plays with the original on any other. This module
imports ``textworld``; nothing else does, except :mod:`envs.alfworld.game.fast_grammar`.
"""

from __future__ import annotations

import copy
import hashlib
import re
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import fast_downward
import textworld
from textworld.core import GameState
from textworld.envs.pddl import PddlEnv
from textworld.envs.pddl import logic as pddl_logic
from textworld.logic import Placeholder, Proposition, Variable

from envs.alfworld.errors import GameError
from envs.alfworld.game.fast_grammar import FastGrammar
from envs.alfworld.game.game_data import GameData, entity_names

VERSIONS = frozenset({"1.7.0"})
"""Versions of TextWorld that this was compared with."""

_TRANSLATING = threading.Lock()


@contextmanager
def _argv_kept() -> Iterator[None]:
    """The translator writes its own command line over the process's, and catches what others print; undo the first."""
    with _TRANSLATING:
        kept = sys.argv
        try:
            yield
        finally:
            sys.argv = kept


class StockEnv(PddlEnv):  # type: ignore[misc]
    """The engine as TextWorld has it, with the readable names of ALFWorld."""

    def load(self, filename_or_data: Any) -> None:
        """Load a game.

        Args:
            filename_or_data: A :class:`GameData`, which was checked; TextWorld evaluates what stands in a grammar.
        """
        if not isinstance(filename_or_data, GameData):
            raise TypeError("the engine plays checked games (GameData) alone")
        with _argv_kept():
            super().load(filename_or_data.mapping())
        for identifier, name in entity_names(self._entity_infos).items():
            self._entity_infos[identifier].name = name

    def reset(self) -> Any:
        """Start the game again."""
        with _argv_kept():
            return super().reset()


class Translation(NamedTuple):
    """A game as the compiled library takes it.

    Attributes:
        sas: Its text.
        task: The parsed task; must not be changed.
        facts: Its initial facts, without those of the library.
        types: Object to type.
        fluents: Names of the predicates that some action changes.
    """

    sas: bytes
    task: Any
    facts: tuple[Proposition, ...]
    types: Mapping[str, str]
    fluents: frozenset[str]


_SENTENCE = re.compile(r'(?<="Your task is to: )[A-Za-z0-9 ,/\'-]+(?=\."\s*\}\s*\])')
_ANY_TASK = "play"


def _logic(domain: str, grammar: str) -> Any:
    """A game's logic. Games differ in the sentence of their task only, so the rest is parsed once for all of them."""
    [*matches] = _SENTENCE.finditer(grammar)
    if len(matches) != 1:
        return _parsed(domain, grammar)
    [sentence] = matches
    shared = _parsed(domain, f"{grammar[: sentence.start()]}{_ANY_TASK}{grammar[sentence.end() :]}")
    logic = copy.copy(shared)
    logic.grammar = shared.grammar.with_text("task", f"Your task is to: {sentence[0]}.")
    return logic


@lru_cache(maxsize=16)
def _parsed(domain: str, grammar: str) -> Any:
    """The parsed logic."""
    logic = pddl_logic.GameLogic(domain=domain, grammar=grammar)
    logic.grammar = FastGrammar(logic.grammar._rules)
    return logic


_TRANSLATIONS: dict[str, Translation] = {}
_KEPT = 64


def _translate(domain: str, problem: str) -> Translation:
    """Translate a game, or take what is kept of it."""
    key = hashlib.sha256(f"{domain}\0{problem}".encode()).hexdigest()
    value = _TRANSLATIONS.get(key)
    if value is None:
        with _argv_kept():
            task, sas = fast_downward.pddl2sas(domain, problem)
        types = {o.name: o.type_name for o in task.objects}
        facts = [
            Proposition(atom.predicate, [Variable(name, types[name]) for name in atom.args])
            for atom in task.init
            if isinstance(atom, fast_downward.translate.pddl.conditions.Atom) and atom.predicate != "="
        ]
        fluents = frozenset(effect.literal.predicate for action in task.actions for effect in action.effects)
        derived = frozenset(axiom.name for axiom in task.axioms)
        value = Translation(sas.encode(), task, tuple(facts), types, fluents | derived)
        while len(_TRANSLATIONS) >= _KEPT:
            _TRANSLATIONS.pop(next(iter(_TRANSLATIONS)), None)
        _TRANSLATIONS[key] = value
    return value


_MOST_ASKED = 100_000
"""Most facts that are gone through in one step, which takes some seconds; official games go through a thousand."""


class FastState(pddl_logic.PddlState):  # type: ignore[misc]
    """The state of a game whose translation is shared and whose facts of a kind stay sorted."""

    def __init__(self, downward_lib: Any, translation: Translation, logic: Any) -> None:
        self._facts: dict[Any, set[Proposition]] = defaultdict(set)
        self._vars_by_name: dict[str, Variable] = {}
        self._vars_by_type: dict[str, set[Variable]] = defaultdict(set)
        self._var_counts: Counter[str] = Counter()
        self._sorted: dict[Any, list[Proposition]] = {}
        self.asked = 0
        self._propositions: dict[bytes, tuple[Proposition, Proposition]] = {}
        self._logic = logic
        self.downward_lib = downward_lib
        self.task, self.name2type = translation.task, translation.types
        self._actions = {action.name: action for action in self.task.actions}
        for kind in self.task.types:
            # TextWorld adds them at every reset and passes over those that are known.
            try:
                logic.types.add(textworld.logic.Type(kind.name, kind.supertype_names))
            except ValueError:
                continue
        downward_lib.load_sas(translation.sas)
        self.add_facts(translation.facts)
        atoms = (pddl_logic.Atom * downward_lib.get_state_size())()
        downward_lib.get_state(atoms)
        self.add_facts(fact for fact in (self._proposition(atom)[0] for atom in atoms) if not fact.is_negation)

    def _proposition(self, atom: Any) -> tuple[Proposition, Proposition]:
        """The fact that an atom of the library stands for, and its negation."""
        pair = self._propositions.get(atom._name)
        if pair is None:
            fact = atom.get_fact(self.name2type)
            pair = self._propositions[atom._name] = (fact, fact.negate())
        return pair

    def facts_with_signature(self, sig: Any) -> Any:
        """The facts of one kind in order; TextWorld sorts them for every query, which is cheap where they are.

        Raises:
            GameError: A sentence or the list of commands asks for more than any game's should.
        """
        facts = self._sorted.get(sig)
        if facts is None:
            facts = self._sorted[sig] = sorted(super().facts_with_signature(sig))
        self.asked += len(facts) + 1
        if self.asked > _MOST_ASKED:
            raise GameError(f"the conditions of the grammar go through more than {_MOST_ASKED} facts in one step")
        return facts

    def add_fact(self, prop: Proposition) -> None:
        """Add a fact."""
        self._sorted.pop(prop.signature, None)
        super().add_fact(prop)

    def remove_fact(self, prop: Proposition) -> None:
        """Remove a fact."""
        self._sorted.pop(prop.signature, None)
        super().remove_fact(prop)

    def perform(self, operator: int, effects: int) -> None:
        """Apply an operator of the library that changes so many facts."""
        atoms = (pddl_logic.Atom * effects)()
        self.downward_lib.apply_operator(operator, atoms)
        for atom in atoms:
            fact, opposite = self._proposition(atom)
            self.remove_fact(opposite)
            self.add_fact(fact)


class Operator(NamedTuple):
    """What stays the same about one operator of a game.

    Attributes:
        name: Its name in the library; some share one.
        effects: How many facts it changes.
        action: The logic's action.
        mapping: Its parameters.
        variables: The same, by name and with the entities.
        command: What the player types, or None where that depends on the state.
    """

    name: bytes
    effects: int
    action: Any
    mapping: Mapping[Any, Variable]
    variables: Mapping[str, Any]
    command: str | None


_LIBRARIES: list[Any] = []


class FastEnv(PddlEnv):  # type: ignore[misc]
    """TextWorld's environment for PDDL games, faster; it gives text, admissible commands and the winning flag only.

    Each has a copy of the compiled library to itself, which holds the state of one game. TextWorld loads a copy for
    every environment and never frees one, so closed environments hand theirs on; loading a game resets it.
    """

    def __init__(self, infos: Any = None) -> None:
        textworld.Environment.__init__(self, infos)
        try:
            self.downward_lib = _LIBRARIES.pop()
        except IndexError:
            self.downward_lib = fast_downward.load_lib()

    def close(self) -> None:
        """End the game and hand its library on."""
        library, self.downward_lib = self.downward_lib, None
        if library is not None:
            _LIBRARIES.append(library)

    def load(self, filename_or_data: GameData) -> None:
        """Load a game."""
        data = filename_or_data
        self._logic = _logic(data.domain, data.grammar)
        self._translation = _translate(data.domain, data.problem)
        self._pddl_state = FastState(self.downward_lib, self._translation, self._logic)
        self._entity_infos = self._get_entity_infos()
        for identifier, name in entity_names(self._entity_infos).items():
            self._entity_infos[identifier].name = name
        self._operators: dict[int, Operator] = {}

    def reset(self) -> Any:
        """Start the game again."""
        self._pddl_state = FastState(self.downward_lib, self._translation, self._logic)
        return self._view(self._written("#intro#", {}, {}))

    def step(self, command: str) -> tuple[Any, int, bool]:
        """Carry out a command where it is admissible."""
        number = self._commands.get(command.strip())
        if number is None:
            text = "Nothing happens."
        else:
            operator = self._operators[number]
            self._pddl_state.perform(number, operator.effects)
            text = self._written(operator.action.feedback_rule, operator.mapping, operator.variables)
        state = self._view(text)
        return state, int(state["won"]), state["won"]

    def _view(self, text: str) -> Any:
        """The current text and the admissible commands."""
        self._pddl_state.asked = 0
        self._commands = self._possible()
        state = GameState()
        state["feedback"] = state["raw"] = text
        state["won"], state["lost"] = self._pddl_state.check_goal(), False
        state["_facts"] = self._pddl_state.facts
        state["admissible_commands"] = sorted(self._commands)
        return state

    def _possible(self) -> dict[str, int]:
        """Commands to operators; as in TextWorld the first of a name, and the first of a command, are taken."""
        library = self.downward_lib
        result = (fast_downward.Operator * library.get_applicable_operators_count())()
        library.get_applicable_operators(result)
        commands: dict[str, int] = {}
        for item in result:
            operator = self._operators.get(item.id)
            if operator is None:
                operator = self._operators[item.id] = self._new(item)
            command = operator.command
            if command is None:
                command = self._written(operator.action.template, operator.mapping, operator.variables)
            commands.setdefault(command, item.id)
        return commands

    def _new(self, item: Any) -> Operator:
        """Look at an operator for the first time."""
        name, *arguments = item.name.split()
        parameters = zip(self._pddl_state._actions[name].parameters, arguments, strict=False)
        mapping = {Placeholder(p.name.strip("?"), p.type_name): Variable(a, p.type_name) for p, a in parameters}
        variables = {p.name: self._entity_infos[v.name] for p, v in mapping.items()}
        action = self._logic.actions[name]
        asked = {predicate.removeprefix("not_") for predicate in re.findall(r"(\w+)\(", action.template)}
        fixed = asked.isdisjoint(self._translation.fluents)
        command = self._written(action.template, mapping, variables) if fixed else None
        return Operator(item._name, item.nb_effect_atoms, action, mapping, variables, command)

    def _written(self, rule: str, mapping: Mapping[Any, Any], variables: Mapping[str, Any]) -> str:
        """The text of a rule."""
        context = {
            "state": self._pddl_state,
            "variables": variables,
            "mapping": mapping,
            "entity_infos": self._entity_infos,
        }
        return str(self._logic.grammar.derive(rule, context))
