"""What real paragraphs state in so many words: relations found by patterns, and the questions that ask for them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from experiments.training.reader.example import Asked, sentences
from tape.protocols.search import Passage

_WORD = r"(?:(?:[A-Z]\.){1,3}|(?:Mr|Mrs|Dr|St|Jr|Sr)\.|[A-Z][\w'’&-]*)"
NAME = rf"{_WORD}(?: (?:(?:of|the|de|von|van|del) )*{_WORD})*"
"""A name, initials and titles included."""
_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
YEAR = r"\b(?:1\d|20)\d\d\b"
DATE = rf"(?:(?:\d\d? )?{_MONTH}(?: \d\d?,)? )?{YEAR}"
NUMBER = r"\b\d[\d,.]*\d\b|\b\d\b"
_THE = "(?:the |The )?"
_COUNTRIES = (
    "United States|United Kingdom|England|Scotland|Wales|Ireland|Canada|Australia|New Zealand|India|Pakistan|Iran|Iraq|"
    "China|Japan|South Korea|North Korea|Vietnam|Thailand|Malaysia|Indonesia|Philippines|Russia|Ukraine|Belarus|Poland|"
    "Germany|France|Spain|Portugal|Italy|Greece|Turkey|Switzerland|Austria|Hungary|Romania|Bulgaria|Serbia|Croatia|"
    "Slovenia|Slovakia|Czech Republic|Netherlands|Belgium|Luxembourg|Denmark|Norway|Sweden|Finland|Iceland|Estonia|"
    "Latvia|Lithuania|Mexico|Guatemala|Cuba|Jamaica|Brazil|Argentina|Chile|Peru|Bolivia|Colombia|Venezuela|Ecuador|"
    "Uruguay|Egypt|Libya|Tunisia|Algeria|Morocco|Nigeria|Ghana|Kenya|Ethiopia|Tanzania|Uganda|South Africa|Zimbabwe|"
    "Angola|Mozambique|Israel|Lebanon|Syria|Jordan|Saudi Arabia|Yemen|Afghanistan|Nepal|Bangladesh|Sri Lanka|Myanmar"
)
_PLACE_KINDS = (
    "city|town|village|municipality|commune|county|district|province|region|island|river|stream|lake|mountain|school|"
    "university|station|township|suburb|neighborhood|neighbourhood|community|census-designated place|airport|museum|"
    "bridge|church|stadium|park|hospital|building"
)


@dataclass(frozen=True)
class Relation:
    """One relation.

    Attributes:
        names: As a query names it.
        pattern: In a sentence about the subject; its group is the answer.
        questions: That ask for it; ``{s}`` is the subject.
    """

    names: tuple[str, ...]
    pattern: str
    questions: tuple[str, ...]


def _by(verb: str, names: tuple[str, ...], *questions: str) -> Relation:
    return Relation(names, rf"\b{verb} by (?:\w+ ){{0,3}}?({NAME})", questions)


RELATIONS: Sequence[Relation] = (
    Relation(("date of birth",), rf"\bborn (?:on |in )?({DATE})", ("When was {s} born?", "what year was {s} born")),
    Relation(
        ("place of birth", "birthplace"),
        rf"\bborn (?:[^.;]{{0,40}}? )?(?:in|at) ({NAME})",
        ("Where was {s} born?", "In which place was {s} born?", "where is {s} from"),
    ),
    Relation(
        ("place of death",),
        rf"\bdied (?:[^.;]{{0,40}}? )?(?:in|at) ({NAME})",
        ("Where did {s} die?", "In what place did {s} die?"),
    ),
    Relation(("date of death",), rf"\bdied (?:[^.;]{{0,30}}? )?(?:on|in) ({DATE})", ("When did {s} die?",)),
    _by("(?:written|authored)", ("author", "screenwriter"), "Who wrote {s}?", "who is the author of {s}"),
    _by("directed", ("director",), "Who directed {s}?", "who was the director of {s}"),
    _by("produced", ("producer",), "Who produced {s}?", "Who was the producer of {s}?"),
    _by("composed", ("composer",), "Who composed {s}?", "who wrote the music of {s}"),
    _by("(?:founded|established|formed)", ("founded by", "founder"), "Who founded {s}?", "who established {s}"),
    _by("(?:designed|built)", ("designer", "architect"), "Who designed {s}?", "who built {s}"),
    _by("(?:manufactured|made)", ("manufacturer",), "Who made {s}?", "What company manufactures {s}?"),
    _by("developed", ("developer",), "Who developed {s}?", "which company developed {s}"),
    _by("published", ("publisher",), "Who published {s}?", "Who is the publisher of {s}?"),
    _by("(?:owned|operated)", ("owned by", "operator"), "Who owns {s}?", "Who operates {s}?"),
    _by("(?:performed|recorded|sung)", ("performer",), "Who performed {s}?", "who sings {s}"),
    _by("(?:played|portrayed|voiced)", ("performer", "played by"), "Who plays {s}?", "who played the part of {s}"),
    _by("(?:album|song|single|track|EP)", ("performer",), "Who performed {s}?", "Which artist made {s}?"),
    _by("(?:novel|book|story|poem|play)", ("author",), "Who wrote {s}?", "Who is the author of {s}?"),
    Relation(
        ("inception", "founded"),
        rf"\b(?:founded|established|formed|created|built|incorporated|chartered) (?:[^.;,]{{0,30}}? )?in ({DATE})",
        ("When was {s} founded?", "When was {s} established?", "what year was {s} formed"),
    ),
    Relation(
        ("publication date",),
        rf"\b(?:released|published|aired|premiered|opened) (?:[^.;,]{{0,30}}? )?(?:on|in) ({DATE})",
        ("When was {s} released?", "when did {s} come out", "When did {s} open?"),
    ),
    Relation(
        ("formation location", "location of formation"),
        rf"\bformed in ({NAME})",
        ("Where was {s} formed?", "In what city was {s} formed?"),
    ),
    Relation(
        ("cast member",),
        rf"\b(?:stars|starring|featuring) (?:\w+ ){{0,2}}?({NAME})",
        ("Who stars in {s}?", "Who is in the cast of {s}?", "who acted in {s}"),
    ),
    Relation(("named after",), rf"\bnamed (?:after|for) {_THE}({NAME})", ("What is {s} named after?",)),
    Relation(
        ("located in the administrative territorial entity", "location", "state"),
        rf"\b(?:{_PLACE_KINDS})(?: located| situated)? (?:in|of) {_THE}(?:[a-z]+ (?:[a-z]+ )?of )?({NAME})",
        ("Where is {s}?", "In what state is {s} located?", "What county is {s} in?", "Which region is {s} in?"),
    ),
    Relation(
        ("located in the administrative territorial entity", "location"),
        rf"\b(?:located|situated|lies) (?:in|at|near|on) {_THE}(?:[a-z]+ (?:[a-z]+ )?of )?({NAME})",
        ("Where is {s} located?", "What is {s} located in?", "where can {s} be found"),
    ),
    Relation(
        ("country",),
        rf"\b(?:in|of|from) (?:{NAME}, ){{0,2}}{_THE}({_COUNTRIES})\b",
        ("Which country is {s} in?", "What country is {s} from?"),
    ),
    Relation(
        ("headquarters location",),
        rf"\b(?:headquartered|based|headquarters (?:is |are )?) ?in ({NAME})",
        ("Where is {s} based?", "In what city are the headquarters of {s}?"),
    ),
    Relation(("capital of",), rf"\bcapital (?:city )?of {_THE}({NAME})", ("What is {s} the capital of?",)),
    Relation(("capital",), rf"\bcapital (?:city )?(?:is|was) ({NAME})", ("What is the capital of {s}?",)),
    Relation(
        ("spouse",),
        rf"\b(?:(?:wife|husband|spouse)(?: of)?|married(?: to)?|marriage to),? (?:\w+ ){{0,2}}?({NAME})",
        ("Who is the spouse of {s}?", "Who did {s} marry?", "Who was {s} married to?"),
    ),
    Relation(
        ("father",),
        rf"\b(?:son|daughter) of (?:[a-z]+ ){{0,3}}({NAME})",
        ("Who is the father of {s}?", "Who was {s}'s father?", "whose child is {s}"),
    ),
    Relation(("father",), rf"\bfather,? (?:was |of )?({NAME})", ("Who was the father of {s}?",)),
    Relation(("mother",), rf"\bmother,? (?:was )?({NAME})", ("Who is the mother of {s}?", "Who was {s}'s mother?")),
    Relation(
        ("sibling",),
        rf"\b(?:brother|sister|brothers|sisters|sibling)(?: of)?,? ({NAME})",
        ("Who is a sibling of {s}?", "Who was {s}'s brother or sister?"),
    ),
    Relation(("child",), rf"\b(?:son|daughter|child|mother of|father of),? ({NAME})", ("Who is a child of {s}?",)),
    Relation(
        ("educated at",),
        rf"\b(?:educated|studied(?: \w+)?|graduated|degree) (?:at|from|in \w+ (?:at|from)) {_THE}({NAME})",
        ("Where was {s} educated?", "What school did {s} attend?", "At which university did {s} study?"),
    ),
    Relation(("educated at",), rf"\battended {_THE}({NAME})", ("Where did {s} study?", "Which school did {s} go to?")),
    Relation(
        ("employer", "position held"),
        rf"\b(?:professor|worked|taught|teacher|lecturer) (?:[^.;,]{{0,25}}? )?(?:at|for) {_THE}({NAME})",
        ("Where did {s} work?", "Who employed {s}?"),
    ),
    Relation(
        ("member of sports team", "team"),
        r"\b(?:plays|played|playing|signed|pitcher|quarterback|forward|midfielder|drafted) "
        rf"(?:[^.;,]{{0,25}}? )?(?:for|with|by) {_THE}({NAME})",
        ("What team did {s} play for?", "Which team is {s} on?"),
    ),
    Relation(
        ("member of", "member of political party"),
        rf"\bmember of {_THE}({NAME})",
        ("What is {s} a member of?", "Which group does {s} belong to?"),
    ),
    Relation(
        ("record label",),
        rf"\b(?:signed to|released (?:on|by|through|via)|label) {_THE}({NAME})",
        ("What is the record label of {s}?", "Which label released {s}?"),
    ),
    Relation(
        ("original network", "broadcast on"),
        rf"\b(?:aired|broadcast|premiered|shown) on {_THE}({NAME})",
        ("Which network shows {s}?", "What channel was {s} on?"),
    ),
    Relation(
        ("mouth of the watercourse", "tributary of"),
        rf"\b(?:flows into|tributary of|empties into|joins) {_THE}({NAME})",
        ("What does {s} flow into?", "What river does {s} join?"),
    ),
    Relation(("part of",), rf"\bpart of {_THE}({NAME})", ("What is {s} a part of?", "To what does {s} belong?")),
    Relation(
        ("population",),
        rf"\bpopulation (?:[^.;]{{0,30}}? )?(?:was|of|is) (?:about |over |around )?({NUMBER})",
        ("What is the population of {s}?", "How many people live in {s}?"),
    ),
    Relation(
        ("shares border with",),
        rf"\b(?:borders|bordered by|borders on|adjacent to) {_THE}({NAME})",
        ("What borders {s}?", "Which place is next to {s}?"),
    ),
    Relation(
        ("award received", "award"),
        rf"\b(?:won|received|awarded|nominated for) (?:the |an |a )?({NAME})",
        ("What did {s} win?", "Which award did {s} receive?"),
    ),
    Relation(
        ("followed by", "successor"),
        rf"\b(?:succeeded by|replaced by|followed by|became) {_THE}({NAME})",
        ("What followed {s}?", "Who succeeded {s}?"),
    ),
    Relation(
        ("occupation",),
        r"\b(?:is|was) an? (?:[A-Z][\w-]+ ){1,2}((?:former )?(?:professional )?[a-z-]+(?: [a-z-]+)?)"
        r"(?= who| and|,|\.| of| for| from| in)",
        ("What does {s} do?", "What is {s} known as?", "What kind of thing is {s}?"),
    ),
)
_PEOPLE = re.compile(r"\w+(?:ish|ian|ese|can|man|ench)")
"""One word that ends so is mostly no name, but a nationality."""
_FOUND = tuple(re.compile(one.pattern) for one in RELATIONS)


def stated(passage: Passage) -> Iterator[tuple[Relation, str, str]]:
    """The relations that a paragraph states about its title: relation, sentence and answer.

    A sentence is about the title where it is the first, has the title's first word at its beginning, or begins with a
    pronoun.
    """
    head = passage.title.split(" (")[0]
    for number, sentence in enumerate(sentences(passage.text)):
        first = " ".join(sentence.split()[:3]).lower()
        about = not number or head.split()[0].lower() in first or sentence.startswith(("He ", "She ", "It ", "They "))
        if not about or len(sentence.split()) > 60:
            continue
        for relation, pattern in zip(RELATIONS, _FOUND, strict=True):
            match = pattern.search(sentence)
            if match and match[1].rstrip(".,") not in head and not _PEOPLE.fullmatch(match[1]):
                yield relation, sentence, match[1].rstrip(",")


def asking(rng: random.Random, passage: Passage) -> list[Asked]:
    """The stated relations of a paragraph as questions, in random order: as a query or as a sentence."""
    subject = passage.title.split(" (")[0]
    found = []
    for relation, sentence, answer in stated(passage):
        name = rng.choice(relation.names)
        how = rng.random()
        if how < 0.4:
            question = f"{subject} >> {name}"
        elif how < 0.5:
            question = rng.choice((f"{name} of {subject}", f"What is the {name} of {subject}?", f"{subject}: {name}"))
        else:
            question = rng.choice(relation.questions).format(s=subject)
        found.append(Asked(question, sentence, answer, passage.title))
    rng.shuffle(found)
    return found
