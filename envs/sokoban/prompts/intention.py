"""The next move that a sentence announces, by words alone: for error analysis, no model is asked."""

from __future__ import annotations

import re

from envs.sokoban.state import ACTIONS

_TOKEN = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*")
_WORDS = {word + end: word[0].upper() for word in ("up", "down", "left", "right") for end in ("", "ward", "wards")}
_NO_MOVE = re.compile(
    r"[(\[]\s*-?\d+\s*,\s*-?\d+\s*[)\]]"  # coordinates, whose comma would end a clause
    r"|\b[UDLR] (?:of|side|edge|column|wall|corner|end)\b|\b(?:on|from|at) (?:the |its |my )?[UDLR]\b"
    r"|\b(?:goals?|boxe?s?|targets?|player|it|which) (?:is|are|lies) (?:to (?:the|its|my) )?[UDLR]\b|\ball R\b"
    r"|\bR (?:below|above|next|beside|behind|under|there|here|now|away|after|before|where|at|in|on)\b"
    r"|\b(?:lines?|lined|lining|ends?|sets?|uses?|used|catch) U\b"
    r"|\b(?:have|has|with|are|is|only|no|few|enough)(?: \w+)? (?:steps?|moves?) L\b"
)
_LIST = re.compile(r"\b([UDLR])\b(?:(?:\s|,|->|→|;|\bthen\b|\band\b)+\b[UDLR]\b)+")
_DUTY = re.compile(r"\b(needs?|has|have|want|going|plan|decide|try|is|be|best|must|ought|about|time|supposed) to\b")
_CLAUSE = re.compile(
    r"([.;!?,\n—]+|->|→|\b(?:so that|so (?:i|we|it|the box) (?:can|could|may|will)|in order to|and then|instead of"
    r"|rather than|then|before|until|after|once|when|while|if|because|since|as|where|which|not|but|so|therefore|thus"
    r"|hence|and"
    r"|to (?=(?:push|move|go|get|reach|stand|avoid|make|bring|put|solve|keep|place|walk|step|finish|complete)\b))\b)"
)
_ASIDE = {"in order to", "so that", "to", "because", "since", "as", "where", "which", "when", "while", "if"}
_ASIDE |= {"and then", "then", "before", "until", "after", "once"}
_DENIED = re.compile(
    r"\b(?:not|never|no|cannot|\w+n't|cant|unable|avoid\w*|without|block(?:ed|s|ing)|invalid|impossible|illegal|stuck"
    r"|trap(?:ped|s)?|dead\w*)\b"
)
_ANNOUNCED = re.compile(
    r"\b(?:first|now|(?:next|best|immediate|right|only|my)(?: \w+)? (?:move|action|step))\b|\baction\b"
)
_MOTION = re.compile(
    r"\b(?:mov|go|push|step|walk|head|shift|slid|shov|run|travel|proceed|continu|choos|pick|tak|play|do)(?:e|es|s|ing|ping)?\b"
    r"[^UDLR]*\b([UDLR])\b"
)
_HYPOTHETICAL = re.compile(r"\b(?:can|could|may|might|will|would)\b")
_CHOICE = re.compile(r"\b[UDLR] or (?:\w+ )?[UDLR]\b")
_PAST = re.compile(r"\b(?:was|were|went|moved|pushed|stepped|walked)\b")
_OF_BOX = re.compile(r"\bbox(?:es)? (?:must|needs?|has|have|should|goes|moves|go|move)\b")


def announced_move(thought: str) -> str | None:
    """The move that a thought announces as the next one, by words alone.

    The directions up, down, left and right (also ``upwards`` ...) and the capitals U, D, L and R count as moves, but
    not where they say where something is (``left of the box``, ``on the right``, ``right below``) or how much is
    left. A row of moves (``R, R, U``) counts as its first. The text is cut into clauses. A clause that denies its move
    (``not``, ``blocked``, ``instead of`` ...) or leaves a choice (``left or right``) is dropped. Of the others, the
    first kind with a move decides:

    1. clauses that announce it (``first``, ``now``, ``next move``, ``action:``);
    2. conclusions (``so I ...``, ``therefore ...``);
    3. the first clause in which the player moves, goes, pushes ...;
    4. other clauses that name a move;
    5. purposes, reasons, conditions and what comes later or was before (``to push it up``, ``then ...``, ``once ...``).

    Within kinds 1, 2, 4 and 5, and where a clause with ``after``, ``once`` or ``if`` contradicts kind 3, moves that
    differ make the thought ambiguous: no move is read, rather than a guess.
    """
    text = _TOKEN.sub(lambda token: _direction(token[0]), thought.replace("’", "'"))
    text = _DUTY.sub(r"\1", _LIST.sub(r"\1", _NO_MOVE.sub(" ", text)))
    kinds: dict[str, list[str]] = {kind: [] for kind in ("announced", "concluded", "moved", "named", "aside")}
    contradicting: set[str] = set()
    pieces = ["", *_CLAUSE.split(text)]
    for opening, clause in zip(pieces[::2], pieces[1::2], strict=True):
        opening = opening.strip()  # noqa: PLW2901
        directions = re.findall(r"\b[UDLR]\b", clause)
        denied = opening in ("not", "instead of", "rather than") or _DENIED.search(clause)
        if not directions or denied or _CHOICE.search(clause):
            continue
        motion = _MOTION.search(clause)
        moves = directions if motion is None else [motion[1]]
        kinds[_kind(opening, clause, moving=motion is not None)] += moves
        if opening in ("after", "once", "if"):
            contradicting.update(moves)
    if kinds["moved"] and not (kinds["announced"] or kinds["concluded"]):
        first = kinds["moved"][0]
        return first if contradicting <= {first} else None
    for moves in kinds.values():
        if moves:
            return moves[0] if len(set(moves)) == 1 else None
    return None


def _kind(opening: str, clause: str, *, moving: bool) -> str:
    """Which of the five kinds of :func:`announced_move` a clause with a move is."""
    concludes = opening in ("so", "therefore", "thus", "hence")
    if opening in _ASIDE or opening.startswith("so ") or (concludes and _HYPOTHETICAL.search(clause)):
        return "aside"
    if _ANNOUNCED.search(clause):
        return "announced"
    if concludes:
        return "concluded"
    if moving and not _OF_BOX.search(clause) and not _PAST.search(clause):
        return "moved"
    return "aside" if _PAST.search(clause) else "named"


def _direction(word: str) -> str:
    """A direction as its capital letter, any other word in lower case."""
    return word if word in ACTIONS else _WORDS.get(word.lower(), word.lower())
