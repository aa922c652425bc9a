"""Training text for questions of several hops and for reading."""

import random
import re
import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.musique.corpus import is_held_out, load_corpus, load_questions
from envs.musique.retrieval import RETRIEVERS
from envs.musique.wordings import RELATIONS as WORDINGS
from envs.musique.words import RELATIONS, delexicalise
from experiments.training.tools.budgets import draw_variants
from experiments.training.tools.example import Example
from experiments.training.tools.reading import MOST_READ_TOKENS, example, vocabulary
from experiments.training.tools.retriever_budgets import COSTS, afford, choose, draw_left
from tape.tools.variants import affordable, best_assignment
from tests import profiles

NAMES = ("Subject", "Object")


def examples(seed: int, count: int) -> list[Example]:
    rng = random.Random(f"test:reading:{seed}")
    return [example(rng) for _ in range(count)]


def is_reading(drawn: Example) -> bool:
    return drawn.queries[0][0][0] == "<read>"


def parse_state(prefix: list[str]) -> tuple[list[str], list[tuple[str, str, str]], list[tuple[str, str, str]]]:
    """Text, what was got and what failed."""
    got_at = prefix.index("got:")
    failed_at = prefix.index("failed:")
    got, failed = [], []
    for entry in " ".join(prefix[got_at + 1 : failed_at]).split(" ;")[:-1]:
        search, relation, subject, equals, answer = entry.split()
        assert (search, equals) == ("search", "=")
        got.append((relation, subject, answer))
    for entry in " ".join(prefix[failed_at + 1 :]).split(" ;")[:-1]:
        search, variant, relation, subject = entry.split()
        assert search == "search"
        failed.append((variant, relation, subject))
    assert prefix[0] == "text:"
    return prefix[1:got_at], got, failed


def parse_plan(words: list[str]) -> tuple[list[tuple[str, str, str]], str]:
    *calls, last = " ".join(words).split(" ; ")
    parsed = []
    for call in calls:
        search, variant, relation, subject = call.split()
        assert search == "search"
        parsed.append((variant, relation, subject))
    answer, reference = last.split()
    assert answer == "answer"
    return parsed, reference


def test_the_same_generator_gives_the_same_examples() -> None:
    assert examples(1, 50) == examples(1, 50)
    assert examples(1, 50) != examples(2, 50)


def test_every_word_is_in_the_vocabulary_and_every_query_is_well_formed() -> None:
    words = vocabulary()
    assert words == sorted(set(words))
    known = set(words)
    for drawn in examples(2, 3000):
        assert known.issuperset(drawn.prefix)
        for prompt, answer in drawn.queries:
            assert known.issuperset(prompt)
            assert known.issuperset(answer)
            assert prompt[-1] == "->"
            assert answer
            assert "->" not in prompt[:-1]
    for text in (*(p.text for p in load_corpus()), *(q.text for q in load_questions())):
        assert known.issuperset(delexicalise([text]).tokens[0])


def test_no_question_is_held_out_and_no_wording_either() -> None:
    shipped = {" ".join(delexicalise([q.text]).tokens[0]) for q in load_questions()}
    unseen = [r.questions[-1].removesuffix("?").split("{x}") for r in WORDINGS.values()]
    texts = [parse_state(d.prefix)[0] for d in examples(3, 4000) if not is_reading(d)]
    assert len(texts) > 1500
    for text in texts:
        sentence = " ".join(text)
        assert sentence not in shipped
        assert not is_held_out(sentence.replace("e1", "Aldera"))
        for start, end in unseen:
            assert not (start and end.strip() and sentence.startswith(start) and sentence.endswith(f"{end} ?"))


def test_plans_make_the_calls_that_are_left_and_act_makes_the_first() -> None:
    kinds: Counter[str] = Counter()
    for drawn in examples(4, 3000):
        if is_reading(drawn):
            continue
        _, got, failed = parse_state(drawn.prefix)
        assert [answer for _, _, answer in got] == [f"e{i + 2}" for i in range(len(got))]
        plans = [(prompt, answer) for prompt, answer in drawn.queries if prompt[0] == "<plan>"]
        scores = [(prompt, answer) for prompt, answer in drawn.queries if prompt[0] == "<score>"]
        kinds.update(prompt[0] for prompt, _ in drawn.queries)
        if not plans:
            assert [answer for _, answer in scores] == [["wrong"]]
            continue
        calls, reference = parse_plan(plans[0][1])
        for number, (_, relation, subject) in enumerate(calls, len(got)):
            assert relation in RELATIONS
            assert subject == (f"#{number}" if number else "e1")
        assert reference == f"#{len(got) + len(calls)}"
        for prompt, answer in drawn.queries:
            if prompt[0] == "<act>" and "plan:" in prompt:
                given_calls, _ = parse_plan(prompt[prompt.index("plan:") + 1 : -1])
                assert [call[1:] for call in given_calls] == [call[1:] for call in calls]
                assert answer == (["search", *given_calls[0]] if calls else ["answer", reference])
                assert prompt[1:7] == plans[0][0][1:7]
                followed = [call for call in failed if given_calls and call == given_calls[0]]
                assert not followed or given_calls[0] == calls[0]
            elif prompt[0] == "<act>":
                assert answer == (["search", *calls[0]] if calls else ["answer", reference])
                assert prompt[1:] == plans[0][0][1:]
            elif prompt[0] == "<score>":
                assert answer == ["right" if not calls and prompt[2] == reference else "wrong"]
        tried = {variant for variant, *call in failed if calls and call == list(calls[0][1:])}
        if tried and len(calls) == 1:
            others = {f"v{i + 1}" for i, count in enumerate(plans[0][0][2:7]) if count != "0"} - tried
            assert calls[0][0] == max({v for v in others if v > max(tried)} or others or {calls[0][0]})
            kinds["again"] += bool(others)
    assert min(kinds[kind] for kind in ("<plan>", "<act>", "<score>")) > 300
    assert kinds["again"] > 20


def test_reading_answers_are_slots_of_the_passages_and_a_third_is_none() -> None:
    answers: Counter[bool] = Counter()
    absent = stated_elsewhere = 0
    for drawn in examples(5, 4000):
        if not is_reading(drawn):
            continue
        assert drawn.prefix[0] == "text:"
        assert len(drawn.prefix) <= MOST_READ_TOKENS
        assert 2 <= len(drawn.queries) <= 4
        relations = {}
        for (read, relation, slot, arrow), [answer] in drawn.queries:
            assert (read, arrow) == ("<read>", "->")
            assert (relation, slot) not in relations
            relations[relation, slot] = answer
            answers[answer == "none"] += 1
            assert answer == "none" or answer in drawn.prefix
            assert answer != slot
            absent += slot not in drawn.prefix
            stated_elsewhere += answer == "none" and slot in drawn.prefix
    assert 0.3 < answers[True] / answers.total() < 0.4
    assert absent > 100
    assert stated_elsewhere > 300


def test_what_is_read_is_what_a_sentence_states() -> None:
    """The answer and its subject stand in one trained wording of the relation, or a generic noun does for it."""
    forms = {
        relation: [
            " ".join(delexicalise([w.format(s="Subject", o="Object")], NAMES).tokens[0]) for w in spec.sentences[:-1]
        ]
        for relation, spec in WORDINGS.items()
    }
    counts: Counter[bool] = Counter()
    for drawn in examples(6, 1500):
        if not is_reading(drawn):
            continue
        text = f" {' '.join(drawn.prefix[1:])} "
        for (_, relation, slot, _), [answer] in drawn.queries:
            counts[answer == "none"] += 1
            nouns = "|".join(f"the {kind}" for kind in WORDINGS[relation].subjects)
            pairs = [(slot, r"e\d+")] if answer == "none" else [(rf"(?:{slot}|{nouns})", answer)]
            if relation in ("spouse", "rival"):
                pairs += [(o, s) for s, o in pairs] if answer == "none" else [(rf"(?:{answer}|{nouns})", slot)]
            patterns = [
                f" {re.escape(form).replace('e1', 'S').replace('e2', o).replace('S', s)} "
                for form in forms[relation]
                for s, o in pairs
            ]
            stated = any(re.search(pattern, text) for pattern in patterns)
            assert stated == (answer != "none"), (relation, slot, answer, text)
    assert min(counts.values()) > 300


@profiles.examples(200)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_budgets_are_those_of_the_other_training_text(seed: int, calls: int) -> None:
    paid, chosen = draw_variants(random.Random(seed), RETRIEVERS, calls)
    left = draw_left(random.Random(seed), calls)
    assert afford(left) == paid[0] == affordable(RETRIEVERS, {"seconds": left[0], "usd": left[1]})
    assert choose(left, calls) == chosen


@profiles.examples(200)
@given(st.integers(0, 10**6), st.integers(1, 3), st.sets(st.integers(0, 4), min_size=1, max_size=2))
def test_after_failures_a_better_retriever_is_taken_where_one_fits(seed: int, calls: int, failed: set[int]) -> None:
    left = draw_left(random.Random(seed), calls)
    chosen = choose(left, calls, sorted(failed))
    assert len(chosen) == calls
    remaining = {"seconds": left[0], "usd": left[1]}
    if best_assignment(RETRIEVERS, remaining, calls) is None:
        assert chosen == [0] * calls
        return
    assert sum(COSTS[i][0] for i in chosen) <= left[0]
    assert sum(COSTS[i][1] for i in chosen) <= left[1]

    def fits(first: int) -> bool:
        rest = {"seconds": left[0] - COSTS[first][0], "usd": left[1] - COSTS[first][1]}
        return min(rest.values()) >= 0 and best_assignment(RETRIEVERS, rest, calls - 1) is not None

    if any(fits(i) for i in range(max(failed) + 1, 5)):
        assert chosen[0] > max(failed)
    elif any(fits(i) for i in range(5) if i not in failed):
        assert chosen[0] not in failed


def test_a_retry_by_hand() -> None:
    everything = (4 * 3200, 4 * 1_000_000)
    assert choose(everything, 2) == [4, 4]
    assert choose(everything, 2, [3]) == [4, 4]
    assert choose(everything, 2, [4]) == [3, 4]
    assert choose((1000, 10_000_000), 2) == [1, 1]
    assert choose((1000, 10_000_000), 2, [0]) == [1, 1]
    assert choose((1000, 10_000_000), 2, [1]) == [2, 0]
    assert choose((1000, 10_000_000), 2, [2]) == [1, 1]
    assert choose((200, 10_000), 1, [0]) == [0]
    assert choose((0, 0), 2, [0]) == [0, 0]


@pytest.mark.slow
def test_it_is_fast_enough_to_train_on() -> None:
    examples(7, 1500)
    start = time.process_time()
    examples(8, 2000)
    assert 2000 / (time.process_time() - start) > 1000
