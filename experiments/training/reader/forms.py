"""How an example is written: many wordings of instructions and forms of answers, so that it is fitted to none."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

from experiments.training.reader.example import Asked, Sheet
from tape.protocols.search import Passage

SHAPES: tuple[tuple[tuple[str, ...], int], ...] = (
    (("quote", "answer"), 6),
    (("quote", "answer", "title"), 6),
    (("quote", "found", "answer"), 5),
    (("quote", "title", "answer"), 1),
    (("title", "quote", "answer"), 1),
    (("found", "answer"), 3),
    (("answer",), 1),
    ((), 3),
)
"""Fields of an answer in JSON, in order, and how often; without any the answer alone is written."""

NAMES = {
    "quote": ("quote", "quote", "quote", "sentence", "evidence"),
    "answer": ("answer", "answer", "answer", "span", "finding"),
    "title": ("title", "title", "source"),
    "found": ("found",),
}
TASKS = (
    "You read paragraphs and find what they say.",
    "You answer questions from the text that you are shown.",
    "Read the text and answer from it alone.",
    "You are a careful reader: you look things up in paragraphs.",
    "A question is asked about some paragraphs. Use only what they state.",
    "Find the answer to a question in the given text.",
    "",
)
SENTENCES = {
    "quote": (
        "First copy the sentence that answers the question, word for word.",
        "Quote the one sentence that says it.",
        "Give the sentence of the text that states the answer.",
        "The {quote} is the sentence that says so, copied exactly.",
        "Begin with the sentence that supports the answer.",
    ),
    "answer": (
        "Then give the shortest answer, in the words of the text.",
        "The {answer} is as short as it can be: a name, a date, a number.",
        "The {answer} is a few words of the text, no more.",
        "Answer with the name or the words asked for, nothing else.",
        "Keep the {answer} short.",
    ),
    "title": (
        "The {title} is the heading of the paragraph that states it.",
        "Name the paragraph it comes from by its title.",
        "Give the exact title of that paragraph.",
    ),
    "found": (
        "{found} is true if the text gives an answer, else false.",
        "If the text does not say, {found} is false.",
        "Say in {found} whether the text answers the question.",
    ),
    "none": (
        "If the text does not answer the question, leave the rest empty.",
        "Where the text does not say, give empty strings.",
        "If nothing there answers it, write empty strings.",
        "An answer that is not in the text is left empty.",
    ),
}
FORMS = ("Answer as JSON: {form}", "Reply with one JSON object: {form}", "Form: {form}", "Write JSON like {form}")
PLAIN = ("Answer with the words of the text alone.", "Give only the answer.", "Write nothing but the answer.")
NOTHING = "none"
"""What is written in plain where the text does not say."""
NO_ANSWER = ("Write none if the text does not say.", "If it is not there, answer none.")
ASKING = ("Question: {q}", "Question: {q}", "{q}", "Query: {q}", "Looked for: {q}", "query: {q}", "Sub-question: {q}")
GAPS = ("Complete: {q}", "Complete from the text: {q}", "{q} ...", "Finish the sentence: {q}")
HEADS = ("Paragraphs:\n", "Text:\n", "Passages:\n", "Read this:\n", "Its result:\n", "")
LISTED = ("[{title}] {text}", "[{title}] {text}", "{title}: {text}", "{number}. {title}: {text}", "{text}")
DEFAULT_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
"""What the template of SmolLM2 writes where a conversation has no system message."""


@dataclass(frozen=True)
class Form:
    """One way to write questions and answers.

    Attributes:
        fields: Of the answer; none for the answer alone.
        names: What each field is called.
        system: The instructions; what is none of it stands in ``ends``.
        head: Before the paragraphs.
        listed: How a paragraph is written.
        between: Two paragraphs.
        asking: How a question is written.
        gap: How a sentence that is to be completed is written.
        ends: After each question.
    """

    fields: tuple[str, ...]
    names: dict[str, str]
    system: str
    head: str
    listed: str
    between: str
    asking: str
    gap: str
    ends: str

    def paragraphs(self, passages: Sequence[Passage]) -> str:
        """The paragraphs of an example."""
        lines = [self.listed.format(title=p.title, text=p.text, number=n) for n, p in enumerate(passages, 1)]
        return self.head + self.between.join(lines)

    def asked(self, asked: Asked) -> str:
        """A question, and what follows it."""
        return (self.gap if asked.gap else self.asking).format(q=asked.question) + self.ends

    def answer(self, asked: Asked) -> str:
        """What is to be written."""
        if not self.fields:
            return asked.answer or NOTHING
        values = {"quote": asked.quote, "answer": asked.answer, "title": asked.title, "found": bool(asked.answer)}
        return json.dumps({self.names[field]: values[field] for field in self.fields}, ensure_ascii=False)


def draw_form(rng: random.Random) -> Form:
    """Draw a way of writing."""
    fields = rng.choices([shape for shape, _ in SHAPES], [weight for _, weight in SHAPES])[0]
    names = {field: rng.choice(options) for field, options in NAMES.items()}
    listed = rng.choice([line for line in LISTED if "title" not in fields or "title" in line])
    lines = [rng.choice(SENTENCES[field]) for field in fields]
    lines = [*lines, rng.choice(SENTENCES["none"])] if fields else [rng.choice(PLAIN), rng.choice(NO_ANSWER)]
    lines = [line for line in lines if rng.random() < 0.85]
    shown = ", ".join(f'"{names[f]}": ' + ("true" if f == "found" else '"..."') for f in fields)
    last = rng.choice(FORMS).format(form=f"{{{shown}}}") if fields else ""
    rules = " ".join(line.format(**names) for line in (rng.choice(TASKS), *lines) if line)
    where = rng.random()
    # All instructions first; the form after each question; or all of it there, without a system message of its own.
    system, ends = (
        (f"{rules} {last}", "") if where < 0.5 else (rules, last) if where < 0.85 else ("", f"{rules} {last}")
    )
    gap = rng.choice([one for one in GAPS if one != "{q} ..." or not ends])
    return Form(
        fields,
        names,
        system.strip() or DEFAULT_SYSTEM,
        rng.choice(HEADS),
        listed,
        "\n" if listed != "{text}" or rng.random() < 0.5 else " ",
        rng.choice(ASKING),
        gap,
        rng.choice(("\n", "\n\n")) + ends.strip() if ends.strip() else "",
    )


END = "<|im_end|>"
"""What ends a turn."""


def turn(role: str, content: str) -> str:
    """One turn of a conversation as the template of SmolLM2 writes it."""
    return f"<|im_start|>{role}\n{content}{END}\n"


def begun(form: Form, sheet: Sheet, examples: Sequence[Sheet] = ()) -> str:
    """What all questions of a sheet share: instructions, worked examples as earlier turns, and the paragraphs."""
    shown = [
        turn("user", f"{form.paragraphs(one.passages)}\n\n{form.asked(one.asked[0])}")
        + turn("assistant", form.answer(one.asked[0]))
        for one in examples
    ]
    return turn("system", form.system) + "".join(shown) + f"<|im_start|>user\n{form.paragraphs(sheet.passages)}"


def form_rows(form: Form, sheet: Sheet, examples: Sequence[Sheet] = ()) -> tuple[str, list[tuple[str, str]]]:
    """What all questions of a sheet share, and of each the rest of the user's turn, and the answer with its end."""
    asked = [
        (f"\n\n{form.asked(one)}{END}\n<|im_start|>assistant\n", f"{form.answer(one)}{END}") for one in sheet.asked
    ]
    return begun(form, sheet, examples), asked
