"""The ``household`` prompt format as requests and readers; its texts: :mod:`envs.alfworld.prompts.lexicon`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from envs.alfworld import rules
from envs.alfworld.commands import AlfworldCommand, read_command
from envs.alfworld.domain import AlfworldDomain
from envs.alfworld.game.kinds import AFTER, OBJECTS, OPENABLE, TREATMENTS, kind_of
from envs.alfworld.prompts.lexicon import (
    ACT,
    ARROW,
    HINT,
    IS_SHUT,
    MARKS,
    MOST_STEPS,
    NEXT,
    NO,
    NONE,
    PLAN,
    STATUSES,
    STEPS,
    WHERE,
    YES,
    command_words,
    read_commands,
    receptacle_name,
    receptacle_word,
    state_words,
)
from envs.alfworld.prompts.placing import (
    PlaceBeliefs,
    free_choices,
    hopeless,
    placed,
    score_of_steps,
    switched_on,
    taken,
    with_place,
)
from envs.alfworld.state import NEW, Knowledge, as_state
from tape.errors import InvalidOutputError
from tape.lm.base import OneOf, Regex, Request
from tape.protocols import Action, Plan, State
from tape.protocols.predicates import Predicate

MOST_PLANNED = 24
"""Most commands of a plan."""

_SEEN = tuple(status for status in STATUSES if status != NEW)
"""What a receptacle can be found to be."""

_SCORES = {f"{n} ": score_of_steps(n) for n in range(MOST_STEPS + 1)}


class AlfworldFormat(PlaceBeliefs):
    """The prompts of the bundled household models, beliefs about what is unseen among them."""

    def __init__(self, domain: AlfworldDomain) -> None:
        self._domain, self._layout = domain, domain.layout

    # A space ends each token, so none is the beginning of another, on which a constraint could run aground.
    @staticmethod
    def _text(words: Sequence[str]) -> str:
        return "".join(f"{word} " for word in words)

    def _prompt(self, state: State, query: Sequence[str]) -> str:
        return self._text([*state_words(as_state(state)), *query])

    def _pattern(self) -> str:
        """A regular expression of one command."""
        goal = self._layout.goal
        words = {name: receptacle_word(name) for name in self._layout.receptacles}
        places = "|".join(words.values())
        forms = [f"go (?:{places}) "]
        if openable := "|".join(word for name, word in words.items() if kind_of(name) in OPENABLE):
            forms.append(f"(?:open|close) (?:{openable}) ")
        forms.append(f"(?:take|put) {goal.thing} (?:{places}) ")
        for verb, (appliance, _) in TREATMENTS.items():
            if some := "|".join(word for name, word in words.items() if kind_of(name) == appliance):
                forms.append(f"{verb} {goal.thing} (?:{some}) ")
        if goal.target in goal.kinds:
            forms.append(f"use {goal.target} ")
        return "|".join(forms)

    # --- plans ------------------------------------------------------------------------------

    def plan_request(self, state: State, remaining: Mapping[str, int]) -> Request:
        """``<plan> ->``: the commands from here to the goal."""
        most = max(1, min(remaining.get("steps", MOST_PLANNED), MOST_PLANNED))
        prompt, constraint = self._prompt(state, [PLAN, ARROW]), Regex(f"(?:{self._pattern()})+")
        return Request(prompt, max_tokens=3 * most + 1, constraint=constraint, role="plan")

    def read_plan(self, state: State, text: str) -> Plan:
        """Commands up to the first that is none; going to where one is already is left out."""
        commands, whole = read_commands(text.split())
        return Plan(tuple(c.text for c in placed(as_state(state), commands)), valid=whole and bool(commands))

    # --- the world model --------------------------------------------------------------------

    def next_request(self, state: State, action: Action, *, valid: bool = False) -> Request:
        """``<next> take apple fridge1 ->``: what changes, or ``none``."""
        command = read_command(action)
        if command is None or hopeless(as_state(state), command):
            # No change could be read back into what is known: all that is left to say is that nothing comes of it.
            prompt, constraint = self._prompt(state, [NEXT, ARROW]), OneOf((f"{NONE} ",))
            return Request(prompt, max_tokens=2, constraint=constraint, role="next")
        change = _change(command)
        prompt = self._prompt(state, [NEXT, *self._words([action]), ARROW])
        return Request(prompt, 4, constraint=Regex(change if valid else f"{NONE} |{change}"), role="next")

    def read_next(self, state: State, text: str) -> State | None:
        """The state with what changes.

        Raises:
            InvalidOutputError: The text is no change.
        """
        here, words = as_state(state), text.split()
        match words:
            case ["none"]:
                return None
            case ["at", word, status] if status in _SEEN:
                place = self._place(word)
                return replace(here, at=self._layout.reached_with(place)).found(place, status)
            case ["put", kind, word] if here.holding and kind_of(here.holding) == kind:
                return rules.put(here, self._place(word))
            case [status, word] if status in _SEEN and receptacle_name(word) in self._layout.number:
                return here.found(self._place(word), status)
            case ["hold", kind] if kind in OBJECTS and not here.holding:
                return taken(here, kind)
            case ["lit", kind] if kind in OBJECTS:
                return switched_on(here, kind)
            case [mark, kind] if mark in MARKS and here.holding and kind_of(here.holding) == kind:
                return rules.treat(here, mark)
        raise InvalidOutputError(f"expected what changes in this household, got {text[:80]!r}")

    def _place(self, word: str) -> str:
        name = receptacle_name(word)
        if name not in self._layout.number:
            raise InvalidOutputError(f"there is no receptacle {name!r} in this household")
        return name

    def score_request(self, state: State) -> tuple[Request, Mapping[str, float]]:
        """``<steps> ->``: how many commands are left; fewer are better."""
        prompt = self._prompt(state, [STEPS, ARROW])
        return Request(prompt, max_tokens=2, constraint=OneOf(tuple(_SCORES)), role="score"), _SCORES

    # --- acting -----------------------------------------------------------------------------

    def act_request(
        self, state: State, remaining: Mapping[str, int], action: Action | None, plan: Sequence[Action]
    ) -> Request:
        """``<act> plan: .. ->``: the next command."""
        del remaining
        here = as_state(state)
        hint = [HINT, *self._words(plan)] if plan else []
        query = [ACT, *hint, ARROW]
        if action is not None:
            fixed = self._text(self._words([action]))
            return Request(self._prompt(state, query), max_tokens=4, constraint=OneOf((fixed,)), role="act")
        constraint = OneOf(self._options(here)) if here.tried or here.shown else Regex(self._pattern())
        return Request(self._prompt(state, query), max_tokens=4, constraint=constraint, role="act")

    def _words(self, actions: Sequence[Action]) -> list[str]:
        commands = [command for command in map(read_command, actions) if command is not None]
        return [w for c in commands for w in command_words(replace(c, place="") if c.verb == "use" else c)]

    def _options(self, state: Knowledge) -> tuple[str, ...]:
        """The commands that may be written in a state."""
        return free_choices(state, self._domain.offered(state), lambda command: self._text(self._words([command.text])))

    def read_act(self, state: State, text: str) -> tuple[str, Action]:
        """The command; this model writes no thoughts.

        Raises:
            InvalidOutputError: It is none, or more than one.
        """
        here = as_state(state)
        commands, whole = read_commands(text.split())
        if not whole or len(commands) != 1:
            raise InvalidOutputError(f"expected one command, got {text[:80]!r}")
        return "", with_place(here, commands[0], here.at).text

    # --- beliefs ----------------------------------------------------------------------------

    def weigh_requests(
        self, state: State, predicates: Sequence[Predicate]
    ) -> list[tuple[Request, Mapping[str, Predicate]]]:
        """``<where> apple ->`` by kind, over the places not looked into; what each option says is true."""
        here = as_state(state)
        open_places = {receptacle_word(place): place for place in rules.unsearched(here)}
        requests: list[tuple[Request, Mapping[str, Predicate]]] = []
        for kind in dict.fromkeys(p.args[0] for p in predicates if p.name == "in"):
            options = {f"{word} ": Predicate("in", (kind, place)) for word, place in open_places.items()}
            if options:
                prompt = self._prompt(state, [WHERE, kind, ARROW])
                request = Request(prompt, max_tokens=2, constraint=OneOf(tuple(options)), role="predict")
                requests.append((request, options))
        return requests

    def shut_request(self, state: Knowledge, place: str) -> Request:
        """``<shut> cabinet3 ->``: yes or no."""
        prompt = self._prompt(state, [IS_SHUT, receptacle_word(place), ARROW])
        return Request(prompt, max_tokens=2, constraint=OneOf((f"{YES} ", f"{NO} ")), role="predict")

    def read_predict(self, state: State, predicates: Sequence[Predicate], text: str) -> Mapping[Predicate, bool]:
        """What one sampled answer says of the predicates that were asked about.

        Raises:
            InvalidOutputError: It is neither yes nor no nor a receptacle.
        """
        del state
        word = text.strip()
        if word in (YES, NO):
            return {p: word == YES for p in predicates if p.name == "shut"}
        self._place(word)
        return {p: p.args[1] == receptacle_name(word) for p in predicates if p.name == "in"}


def _change(command: AlfworldCommand) -> str:
    """A regular expression of what a command may change."""
    place = receptacle_word(command.place) if command.place else ""
    kind = kind_of(command.thing) if command.thing else ""
    if command.verb == "go":
        return f"at {place} (?:{'|'.join(_SEEN)}) "
    if command.verb in ("open", "close"):
        return f"(?:{'|'.join(_SEEN)}) {place} "
    if command.verb == "take":
        return f"hold {kind} "
    if command.verb == "put":
        return f"put {kind} {place} "
    return f"{'lit' if command.verb == 'use' else AFTER[command.verb]} {kind} "
