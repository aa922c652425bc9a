"""The ``search`` prompt format: search agents in the words of the bundled search model, one token a word.

A prompt is the question, then what the agent remembers, then one role; what follows the arrow is the model's::

    q: who is the mayor of the town where e1 was born
    find: e1 born got: | e1 : e1 was born in e2 s1 e1 plays the flute s2 | e3 : e3 is a town in e4 s3   a transcript
    know: e1 : e1 was born in e2 s1 open: who is the mayor of e2 s2 done: where was e1 born     a structured belief
    memo: e1 was born in e2 s1 todo: who is the mayor of e2 s2 did: where was e1 born           a freeform belief

    <query> search answer note ->        search mayor e2 ;     or: answer ;     or: note s1 ;
    <think> ->                           s1 next mayor e2 ;    or: s1 found ;
    new: | e2 : the mayor is e5 s3 <extract> ->   s3 ; s2 ; ask spouse e5 ;     facts ; resolved ; a new sub-question
    new: | e2 : the mayor is e5 s3 <pick> ->      s3 ;                          the same for a freeform belief
    <curate> ->                          s2 s1 ;
    <answer> ->                          e5 ;                  or: unanswerable ;

Unknown words are slots (:mod:`envs.search.prompts.lexicon`). The model refers to findings by the tag after the
sentence, so quotes are verbatim by construction. Only marks and passage ids are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from envs.search.prompts.lexicon import MOST_TAGS, UNKNOWN, TaggedPage, check_words, sentences
from tape.errors import ConfigError, InvalidOutputError
from tape.lm.base import Regex, Request
from tape.methods.cgdp.prompts import Extracted, Finding, MoveKind, NextMove
from tape.methods.cgdp.view import Belief, View
from tape.protocols.prompt_format import PromptFormat
from tape.protocols.search import UNANSWERABLE, Passage, SearchTask

MOST_FINDINGS = 6
MOST_RESOLVED = 4
MOST_WORDS = 12
"""Most words of a query, a sub-question, or a next step."""
MOST_ANSWER_WORDS = 20
NOTHING = "Nothing was found."
"""The thought of a model that stops without a fact."""

END = ";"
_NO_ANSWER = "unanswerable"
MARKERS = (
    *("q:", "note:", "know:", "open:", "done:", "memo:", "todo:", "did:", "find:", "got:", "thus:", "new:", "seek:"),
    *("|", ":", "->", "<query>", "<think>", "<extract>", "<pick>", "<curate>", "<answer>"),
    *("search", "answer", "note", "next", "found", "ask", "none", _NO_ANSWER, END, UNKNOWN),
)
MOVES: tuple[MoveKind, ...] = ("search", "answer", "note")


Kind = Literal["note", "fact", "open", "sentence"]


@dataclass(frozen=True)
class Tagged:
    """The item of a tag.

    Attributes:
        kind: A note of the agent, a fact of the belief, one of its open questions, or a sentence of a passage.
        text: The verbatim text.
        source: The id of the passage, for a fact or sentence.
        subject: The title of that passage.
        new: Whether it belongs to the passages that are to be read.
    """

    kind: Kind
    text: str
    source: str = ""
    subject: str = ""
    new: bool = False

    @property
    def sentence(self) -> str:
        """The text, preceded by its subject unless it names it."""
        return self.text if _names(self.text, self.subject) else f"{self.subject}: {self.text}"


SearchPage: TypeAlias = TaggedPage[Tagged]


def page_of(view: View, passages: Sequence[Passage] = ()) -> SearchPage:
    """Write a view, and passages to be read after it."""
    page: SearchPage = TaggedPage()
    page.mark("q:")
    page.text(view.question)
    for note in view.notes:
        page.mark("note:")
        page.text(note)
        page.tag(Tagged("note", note))
    if view.belief is not None:
        _write_belief(page, view.belief)
    for round_ in view.rounds:
        if round_.query:
            page.mark("find:")
            page.text(round_.query)
        page.mark("got:")
        _write_passages(page, round_.passages, new=False)
        if round_.thought:
            page.mark("thus:")
            page.text(round_.thought)
    if passages:
        page.mark("new:")
        _write_passages(page, passages, new=True)
    return page


def _write_belief(page: SearchPage, belief: Belief) -> None:
    structured = belief.form == "structured"
    know, todo, done = ("know:", "open:", "done:") if structured else ("memo:", "todo:", "did:")
    page.mark(know)
    for fact in belief.facts:
        # Every structured fact has its subject; a note has it unless it names it.
        if structured or not _names(fact.text, fact.subject):
            page.text(fact.subject)
            page.mark(":")
        page.text(fact.text)
        page.tag(Tagged("fact", fact.text, fact.source, fact.subject))
    for marker, questions in ((todo, belief.questions), (done, belief.resolved)):
        if questions:
            page.mark(marker)
        for question in questions:
            page.text(question)
            if marker == todo:
                page.tag(Tagged("open", question))
            else:
                page.mark(END)


def _write_passages(page: SearchPage, passages: Sequence[Passage], *, new: bool) -> None:
    if not passages:
        page.mark("none")
    for passage in passages:
        page.mark("|")
        page.text(passage.title)
        page.mark(":")
        for sentence in sentences(passage.text):
            page.text(sentence)
            page.tag(Tagged("sentence", sentence, passage.id, passage.title, new))


def text_of(words: Sequence[str]) -> str:
    """Words as the model's tokenizer splits them: each followed by a space, so that none is a prefix of another."""
    return "".join(f"{word} " for word in words)


class CompactSearchFormat(PromptFormat):
    """Implements :class:`tape.methods.cgdp.prompts.SearchFormat` for ``bundled:search``."""

    version = "search-1"
    judges = False

    def require_readable(self, task: SearchTask) -> None:
        """Refuse a corpus whose words the model does not know."""
        check_words(task)

    # --- query ------------------------------------------------------------------------------

    def query_request(self, view: View, moves: Sequence[MoveKind]) -> Request:
        """``<query> search answer ->``; with ``seek:`` and the open question if the agent chooses it."""
        page, allowed = page_of(view), [move for move in MOVES if move in moves]
        if not allowed:
            raise ConfigError(f"there is no move to choose from; give some of {', '.join(MOVES)}")
        page.mark("<query>")
        if view.target:
            page.mark("seek:")
            page.text(view.target)
        notable = _tags(page, _notable)
        forms = {"search": f"search {_phrase(page)}; ", "answer": "answer ; ", "note": f"note {_one_of(notable)}; "}
        possible = [move for move in allowed if move != "note" or notable]
        if not possible:
            raise ConfigError("nothing can be noted where there is no memory to note from; allow another move too")
        return _request(page, [*allowed, "->"], _either([forms[move] for move in possible]), MOST_WORDS + 2, "query")

    def read_query(self, view: View, text: str) -> NextMove:
        """Read the move, with names as in the view."""
        page, words = page_of(view), _ended(text)
        if view.target:
            page.text(view.target)
        match words:
            case ["answer"]:
                return NextMove("answer")
            case ["note", tag]:
                return NextMove("note", _tagged(page, tag, _notable).sentence)
            case ["search", *query] if len(query) <= MOST_WORDS:
                return NextMove("search", page.read(query))
        raise InvalidOutputError(f"expected search, answer or note, got {text[:80]!r}")

    # --- think ------------------------------------------------------------------------------

    def think_request(self, view: View) -> Request:
        """``<think> ->``: the most important sentence and the next step."""
        page = page_of(view)
        page.mark("<think>")
        pointed = _either([text_of(["none"]), *(f"{tag} " for tag in _tags(page, _notable))])
        pattern = f"{pointed}{_either(['found ', f'next {_phrase(page)}'])}; "
        return _request(page, ["->"], pattern, MOST_WORDS + 3, "think")

    def read_think(self, view: View, text: str) -> tuple[str, bool]:
        """Read the sentence, then ``Next:`` and words; or that the answer is found."""
        page, words = page_of(view), _ended(text)
        if len(words) < 2:
            raise InvalidOutputError(f"expected a tag and what comes next, got {text[:80]!r}")
        thought = [] if words[0] == "none" else [_tagged(page, words[0], _notable).sentence]
        # A full stop separates its names from those of the next step.
        thought = [text if text.endswith((".", "!", "?")) else f"{text}." for text in thought]
        if words[1:] == ["found"]:
            return " ".join(thought) or NOTHING, True
        if words[1] != "next" or len(words) > MOST_WORDS + 2:
            raise InvalidOutputError(f"expected found, or next and words, got {text[:80]!r}")
        return " ".join([*thought, f"Next: {page.read(words[2:])}."]), False

    # --- extract ----------------------------------------------------------------------------

    def extract_request(self, view: View, passages: Sequence[Passage]) -> Request:
        """``new: ... <extract> ->``, or ``<pick>`` for a freeform belief: tags of important new sentences."""
        page = page_of(view, passages)
        tags, opened = _tags(page, _is_new), _tags(page, _is_open)
        pattern = f"{_either([text_of(['none']), _several(tags, MOST_FINDINGS)]) if tags else 'none '}; "
        longest = MOST_FINDINGS + 1
        if _is_structured(view):
            resolved = _several(opened, MOST_RESOLVED, 0) if opened else ""
            pattern += f"{resolved}; (?:ask {_phrase(page)}; )?"
            longest += MOST_RESOLVED + 1 + MOST_WORDS + 2
        page.mark("<extract>" if _is_structured(view) else "<pick>")
        return _request(page, ["->"], pattern, longest, "extract")

    def read_extract(self, view: View, passages: Sequence[Passage], text: str) -> Extracted:
        """Read findings with their sentences as quotes; in structured form also resolved questions and a new one."""
        page = page_of(view, passages)
        parts = [part.split() for part in _closed(text).split(END)]
        if len(parts) > (3 if _is_structured(view) else 1):
            raise InvalidOutputError(f"expected fewer parts that end in {END!r}, got {text[:80]!r}")
        picked, resolved, asked = [*parts, [], []][:3]
        tags = [] if picked == ["none"] else list(dict.fromkeys(picked))
        if not picked or len(tags) > MOST_FINDINGS:
            raise InvalidOutputError(f"expected none or up to {MOST_FINDINGS} tags, got {text[:80]!r}")
        result = [_tagged(page, tag, _is_new) for tag in tags]
        opened = [item for item in page.tagged if item.kind == "open"]
        # Open questions may be equal, so their positions identify them.
        positions = [_position(opened, _tagged(page, tag, _is_open)) for tag in dict.fromkeys(resolved)]
        if asked and asked[0] != "ask":
            raise InvalidOutputError(f"expected ask and words, got {text[:80]!r}")
        questions = (page.read(asked[1:]),) if asked else ()
        return Extracted(tuple(Finding(item.source, item.text) for item in result), tuple(positions), questions)

    # --- curate -----------------------------------------------------------------------------

    def curate_request(self, view: View) -> Request:
        """``<curate> ->``: tags of the items of the belief, the most important first."""
        page = page_of(view)
        tags = _tags(page, _is_item)
        if not tags:
            raise ConfigError("there is nothing to curate: the belief has neither facts nor open questions")
        page.mark("<curate>")
        return _request(page, ["->"], f"{_several(tags, len(tags))}; ", len(tags) + 1, "curate")

    def read_curate(self, view: View, text: str) -> tuple[int, ...]:
        """Read positions of items, each once."""
        page = page_of(view)
        items = [item for item in page.tagged if _is_item(item)]
        tags = dict.fromkeys(_ended(text))
        if not tags:
            raise InvalidOutputError(f"expected tags, got {text[:80]!r}")
        return tuple(_position(items, _tagged(page, tag, _is_item)) for tag in tags)

    # --- answer -----------------------------------------------------------------------------

    def answer_request(self, view: View) -> Request:
        """``<answer> ->``: words, or ``unanswerable``."""
        page = page_of(view)
        page.mark("<answer>")
        return _request(page, ["->"], f"{_phrase(page, MOST_ANSWER_WORDS)}; ", MOST_ANSWER_WORDS + 1, "answer")

    def read_answer(self, view: View, text: str) -> str:
        """Read the words, verbatim as in the view."""
        words = _ended(text)
        if len(words) > MOST_ANSWER_WORDS:
            raise InvalidOutputError(f"expected up to {MOST_ANSWER_WORDS} words, got {len(words)}")
        return UNANSWERABLE if words == [_NO_ANSWER] else page_of(view).verbatim(words)


def _request(page: SearchPage, ending: Sequence[str], pattern: str, most: int, role: str) -> Request:
    return Request(text_of([*page.words, *ending]), most, constraint=Regex(pattern), role=role)


def _names(text: str, subject: str) -> bool:
    return subject.lower() in text.lower()


def _is_structured(view: View) -> bool:
    return view.belief is not None and view.belief.form == "structured"


def _is_item(item: Tagged) -> bool:
    return item.kind in ("fact", "open")


def _is_open(item: Tagged) -> bool:
    return item.kind == "open"


def _is_new(item: Tagged) -> bool:
    return item.new


def _notable(item: Tagged) -> bool:
    return item.kind != "open"


def _tags(page: SearchPage, wanted: Callable[[Tagged], bool]) -> list[str]:
    return [f"s{i}" for i, item in enumerate(page.tagged[:MOST_TAGS], 1) if wanted(item)]


def _tagged(page: SearchPage, tag: str, wanted: Callable[[Tagged], bool]) -> Tagged:
    match = re.fullmatch(r"s([1-9]\d{0,2})", tag)
    number = int(match[1]) if match else 0
    if not 1 <= number <= min(len(page.tagged), MOST_TAGS) or not wanted(page.tagged[number - 1]):
        raise InvalidOutputError(f"{tag[:80]!r} is not the tag of anything that can be pointed to here")
    return page.tagged[number - 1]


def _position(items: Sequence[Tagged], item: Tagged) -> int:
    return next(i for i, other in enumerate(items) if other is item)


def _closed(text: str) -> str:
    body = text.strip()
    if not body.endswith(END):
        raise InvalidOutputError(f"expected words that end in {END!r}, got {text[:80]!r}")
    return body.removesuffix(END)


def _ended(text: str) -> list[str]:
    return _closed(text).split()


# --- patterns -------------------------------------------------------------------------------


def _either(patterns: Sequence[str]) -> str:
    return patterns[0] if len(patterns) == 1 else f"(?:{'|'.join(patterns)})"


def _one_of(tags: Sequence[str]) -> str:
    return f"s{_either([tag[1:] for tag in tags])} "


def _several(tags: Sequence[str], most: int, least: int = 1) -> str:
    return f"(?:{_one_of(tags)}){{{least},{most}}}"


def _phrase(page: SearchPage, most: int = MOST_WORDS) -> str:
    """Plain words and slots in use; the tokenizer limits plain words to the vocabulary."""
    slots = [f"|e{_either([str(i) for i in range(1, page.slots + 1)])}"] if page.slots else []
    return f"(?:(?:[a-z]+(?:['-][a-z]+)*{''.join(slots)}) ){{1,{most}}}"
