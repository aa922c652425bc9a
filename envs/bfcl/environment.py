"""A conversation of BFCL as an environment: several requests, one world, an answer ends each turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from envs.apart.planner import KnownRequest, know
from envs.bfcl.backend import ApiWorld, backend
from envs.bfcl.calls import ApiCall, read_call
from envs.bfcl.checks import CheckedConversation
from envs.bfcl.functions import DESTRUCTIVE, READ, parameters_of, tools_of
from envs.bfcl.source import LONG, BfclSource, Conversation
from tape.protocols import Observation
from tape.protocols.prompt_format import PromptFormat
from tape.tools.briefing import NO_BRIEFING
from tape.tools.calls import Call, from_mapping
from tape.tools.copies import CopyableState, PythonObject
from tape.tools.environment import ToolEnvironment
from tape.tools.prompts.programs import ProgramFormat
from tape.tools.toolbox import Toolbox

MORE = "More tools are there now. Can it be done with them? It was: "
"""What the user says in a turn in which functions are added, before the request that could not be met."""
CHARACTERS = 4
"""Of a token, about; the history of a conversation is cut by it."""


def text_of(conversation: Conversation, turn: int) -> str:
    """The request of a turn."""
    requests = conversation.requests
    return requests[turn] or MORE + requests[turn - 1]


class BfclEnvironment(ToolEnvironment):
    """One conversation."""

    def __init__(self, conversation: Conversation, source: BfclSource) -> None:
        self._conversation, self._source = conversation, source
        self.turn = 0
        """The number of the request that is being done."""
        parameters = parameters_of(source, conversation.classes)
        self._gold: list[list[ApiCall]] = [[read_call(name, parameters) for name in turn] for turn in conversation.gold]
        self._formats: list[ProgramFormat] = []
        know(self._turns(parameters))
        super().__init__(self._text(), self._tools(), judge=lambda _: not self._checked.failure, state=self._worlds())

    def _worlds(self) -> dict[str, CopyableState]:
        """Fresh APIs, the same again in which the gold calls are made, and the number of the turn."""
        conversation, apis = self._conversation, backend(self._source)
        self._world, gold = (
            ApiWorld.of(apis, conversation.classes, conversation.config, long=conversation.kind == LONG)
            for _ in range(2)
        )
        self._checked = CheckedConversation(gold)
        self._number = PythonObject([0])
        self._wrong = self._right = 0
        return {"apis": self._world, "turn": self._number}

    def _tools(self) -> Toolbox:
        """What is there in this turn."""
        conversation = self._conversation
        held = [name for turn, names in conversation.held.items() if turn > self.turn for name in names]
        return Toolbox(tools_of(self._source, conversation.classes, {*conversation.excluded, *held}))

    def _turns(self, parameters: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, KnownRequest]]:
        """The requests, for the simulated planner."""
        conversation = self._conversation
        there = {name: takes for name, takes in parameters.items() if name not in conversation.excluded}
        for turn, gold in enumerate(self._gold):
            yield text_of(conversation, turn), KnownRequest(f"{conversation.id} {turn}", gold, there, READ)

    def _text(self) -> str:
        return text_of(self._conversation, self.turn)

    def prompt_format(self, name: str) -> PromptFormat:
        """See :meth:`tape.protocols.Environment.prompt_format`."""
        layout = super().prompt_format(name)
        assert isinstance(layout, ProgramFormat)
        self._formats.append(layout)
        return layout

    def reset(self, seed: int) -> Observation:
        """Begin the conversation again."""
        if self.turn or self._world.results:
            self.turn = self.domain.since = self.domain.calls_before = 0
            self.domain.briefing = NO_BRIEFING
            assert self._states is not None
            self._states.begin_again(self._worlds())
            self._renew()
        return super().reset(seed)

    def _renew(self) -> None:
        self.domain.task = self._text()
        if self._conversation.held:
            self.toolbox = self.domain.toolbox = self._tools()
            for layout in self._formats:
                layout.renew()

    async def _take(self, call: Call) -> None:
        """End a turn: check it, and let the user speak again."""
        await super()._take(call)
        self._wrong += self._wrong_now()
        self._checked.turn(self._world, self._world.take_results(), self._gold[self.turn])
        self._right += not self._checked.failure
        if self.turn + 1 == len(self._conversation.requests):
            return
        domain = self.domain
        domain.briefing = domain.briefing.going_on(self.history(""), lambda text: len(text) // CHARACTERS)
        self.turn += 1
        self._number.value[0] = self.turn
        if self._states is not None:
            self._states.changed({"turn": "write"}, "the user")
        domain.since, domain.calls_before = len(self._state.got), len(domain.made(self._state))
        self._renew()
        self._state = replace(self._state, answer=None, note="", data=self._data())
        self.answered = None

    def _wrong_now(self) -> int:
        """The calls of this turn that cannot be taken back, and that the gold calls do not have."""
        made = Counter(
            obtained.call.text for obtained in self._state.got[self.domain.since :] if obtained.call.kind in DESTRUCTIVE
        )
        return (made - Counter(from_mapping(call.name, call.arguments).text for call in self._gold[self.turn])).total()

    def measures(self) -> dict[str, float]:
        """Turns that were right, all before the first wrong one, and wrong calls that cannot be taken back."""
        over = self.ended() or self.turn >= len(self._gold)
        wrong = float(self._wrong + (0 if over else self._wrong_now()))
        return {"turns_right": float(self._right), "wrong_irreversible": wrong}

    @property
    def failure(self) -> str:
        """The first official rule that was not met; empty while all are."""
        return self._checked.failure

    def turns(self) -> Sequence[Sequence[ApiCall]]:
        """The gold calls of each turn."""
        return self._gold

    def made_with(self) -> dict[str, Any]:
        """The conversation."""
        return {"conversation": self._conversation.id}
