"""Answers of hosted models that are not as they were asked for: reported, read all the same, or repaired."""

import warnings

import pytest

from tape.errors import EndpointWarning
from tape.lm.base import JsonSchema, OneOf
from tests.tape.lm.endpoint import Endpoint
from tests.tape.lm.hosting import MOVE, Move, ask, opened, replies, wrapped

pytest.importorskip("openai")


def test_refusals_and_truncations_are_reported_and_not_repaired() -> None:
    with Endpoint(wrapped("possible"), ["refusal", "length"]) as endpoint, warnings.catch_warnings():
        model = opened(endpoint)
        warnings.simplefilter("error")
        refused, cut = ask(model, OneOf(("possible",))), ask(model, OneOf(("possible",)))
    assert (refused.finish, refused.texts) == (("refusal",), ("I will not do that.",))
    assert cut.finish == ("length",)
    assert len(endpoint.bodies) == 2


def test_an_ignored_schema_is_warned_of_and_repaired() -> None:
    warned = pytest.warns(EndpointWarning, match="ignores the schema")
    with Endpoint(replies(MOVE), ["ignore"]) as endpoint, warned as warned_:
        completion = ask(opened(endpoint), JsonSchema(Move))
    assert completion.texts == (MOVE,)
    assert completion.usage.calls == 2
    assert endpoint.url in str(warned_[0].message)
    repair = endpoint.bodies[1]["messages"]
    assert [message["role"] for message in repair] == ["system", "user", "assistant", "user"]
    assert '"enum":["U","D"]' in repair[-1]["content"]


def test_an_ignored_schema_shows_in_a_truncated_answer_too() -> None:
    ignored = pytest.warns(EndpointWarning, match="ignores the schema")
    with Endpoint(replies(MOVE), ["ramble"]) as endpoint, ignored:
        assert ask(opened(endpoint), JsonSchema(Move)).finish == ("length",)
    assert len(endpoint.bodies) == 1


def test_repairs_are_bounded_and_the_answer_is_left_to_the_reader() -> None:
    with Endpoint(replies("Sure!")) as endpoint, pytest.warns(EndpointWarning) as warned:
        assert ask(opened(endpoint, repairs=2), JsonSchema(Move)).texts == ("Sure!",)
    assert (len(endpoint.bodies), len(warned)) == (3, 1)


def test_a_broken_bound_is_repaired_but_is_no_ignored_schema() -> None:
    broken = '{"action":"U","row":12}'
    with Endpoint(lambda body: [broken if len(body["messages"]) == 2 else MOVE]) as endpoint, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ask(opened(endpoint), JsonSchema(Move)).texts == (MOVE,)
    assert "less than or equal to 9" in endpoint.bodies[1]["messages"][-1]["content"]


@pytest.mark.parametrize("text", ["up", " up\n", '```json\n{"answer": "up"}\n```', '{"answer": "up"}'])
def test_a_usable_answer_in_another_dress_is_taken(text: str) -> None:
    with Endpoint(replies(text)) as endpoint:
        assert ask(opened(endpoint), OneOf(("up", "down"))).texts == ("up",)
    assert len(endpoint.bodies) == 1


def test_a_refused_schema_is_asked_for_in_words() -> None:
    with Endpoint(replies("up"), ["no schema"]) as endpoint:
        model = opened(endpoint)
        with pytest.warns(EndpointWarning, match="in words only"):
            assert ask(model, OneOf(("up", "down"))).texts == ("up",)
        ask(model, OneOf(("up", "down")))
    assert len(endpoint.bodies) == 3, "the second request does not try the schema again"
    assert 'one of these texts and with nothing else: ["up", "down"]' in endpoint.bodies[1]["messages"][-1]["content"]
    assert "response_format" not in endpoint.bodies[1]


def test_a_refused_schema_with_bounds_is_first_tried_without_them() -> None:
    with Endpoint(replies(MOVE), ["no schema", "", "no schema"]) as endpoint:
        model = opened(endpoint)
        with pytest.warns(EndpointWarning, match="without its bounds"):
            assert ask(model, JsonSchema(Move)).texts == (MOVE,)
        with pytest.warns(EndpointWarning, match="in words only"):
            assert ask(model, JsonSchema(Move)).texts == (MOVE,)
        ask(model, OneOf((MOVE, "other")))
    asked = [body.get("response_format") for body in endpoint.bodies]
    schema = asked[1]["json_schema"]["schema"]
    assert "maximum" in str(asked[0])
    assert not any(bound in str(schema) for bound in ("maximum", "maxItems"))
    assert schema["properties"]["action"]["enum"] == ["U", "D"]
    assert asked[3] is None
    assert "enum" in str(asked[4]), "another schema is another question"
