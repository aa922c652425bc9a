"""A game file is data: nothing of it runs or hangs, and the engine gets only the few forms that games need."""

import ast
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from envs.alfworld.errors import GameError
from envs.alfworld.game.closed_grammar import check_expression, check_grammar
from envs.alfworld.game.closed_pddl import check_pddl
from envs.alfworld.game.game_data import GameData, read_game_data
from envs.alfworld.game.game_file import game_text
from envs.alfworld.game.generator import draw_house
from envs.alfworld.game.oracle import put_command
from envs.alfworld.game.textworld_game import TextWorldGame
from tests.envs.alfworld.helpers import given_folder, needs_engine, needs_given
from tests.profiles import examples

GAME: dict[str, Any] = json.loads(game_text(draw_house(random.Random("closed"), "pick_heat_then_place_in_recep", 0.1)))

EXPRESSIONS = (
    "__import__('os').system('touch MARK') or ''", "exec('open(chr(77), chr(119))')", "(lambda: open('MARK', 'w'))()",
    "().__class__.__base__.__subclasses__()", "r.__class__.__init__.__globals__",
    *("open('MARK', 'w')", "open('MARK')", "eval('1')", "lambda: 1", "[x for x in (1,)]", "(x for x in (1,))"),
    *("r.__class__", "r.name.__class__", "r.name.format", "r.name.upper()", "r.serialize()", "r._hidden", "r.desc"),
    *("__builtins__", "__name__", "print", "exit", "context", "self", "self.context", "r . name", "r.name.id"),
    *("r if r else o", "r and o", "not r", "r.name or", "or r.name", "r.name + 1", "r.name or 'text' + r", "'text'"),
    *("r.name + 'a' * 99999999", "'%s' % r", "r['name']", "r.name[0]", "r:=1", "f'{r}'", "b'x'", "9**9**9**9"),
    *("r.name + '\\x41'", "r.name + '\\n'", "r.name + 'it''s'", 'r.name + "x"', "r.name\n+ o.name"),
    *("r.n\u0430me", "\uff52.name", "r.\u210dame", "r\u2024name", "r.name\u200b", "r.name\x00"),
    *("r;o", "r,o", "*r", "...", "1", "0", "", " ", "None", "True or r.name", "r.name # or o.name"),
    *("{r.name}", "r.name!r", "r.name:>99999999", "#state(r)# or r"),
    *("r" * 100_000, " or ".join(["r.name"] * 50_000), "(" * 50_000, "-" * 50_000 + "1"),
)  # fmt: skip
ELSEWHERE = ("[{%s | holds(a:agent, o:item)}]", "#state(r)#{%s}", "{r.name} {%s}")
"""Other places of an expression."""


def _with_text(text: str) -> str:
    """A game whose first sentence has a text."""
    written = json.dumps(text)[1:-1]
    return json.dumps({**GAME, "grammar": GAME["grammar"].replace("-= Welcome", f"{written} -= Welcome")})


def _with_command(text: str) -> str:
    return json.dumps({**GAME, "grammar": GAME["grammar"].replace('template :: "look"', f'template :: "look {text}"')})


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=lambda text: text[:40].encode("unicode_escape").decode())
def test_what_is_no_form_of_an_expression_is_refused(expression: str, tmp_path: Path) -> None:
    payload = expression.replace("MARK", str(tmp_path / "mark"))
    for braces in ("{%s}", *ELSEWHERE[: len(ELSEWHERE) * (expression in EXPRESSIONS[:5])]):
        with pytest.raises(GameError, match="the game's text: the grammar"):
            read_game_data(_with_text(braces.replace("%s", payload)))
    if '"' not in payload and "\n" not in payload:
        with pytest.raises(GameError, match="the game's text: the grammar"):
            read_game_data(_with_command(f"{{{payload}}}"))
    assert not (tmp_path / "mark").exists()


@needs_engine
@pytest.mark.parametrize("fast", [True, False])
def test_neither_engine_is_given_what_was_refused(fast: bool, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    payload = "{__import__('os').system('touch " + str(mark) + "') or ''}"
    escaped = _with_text(payload).replace("__import__", "\\u005f_import__")
    for game in (_with_text(payload), _with_command(payload), escaped):
        with pytest.raises(GameError, match=r"expression .*__import__.* is refused"):
            TextWorldGame(game, fast=fast)
    assert not mark.exists()


@needs_engine
@pytest.mark.parametrize("fast", [True, False])
def test_the_engines_take_checked_games_alone(fast: bool) -> None:
    from envs.alfworld.game import fast_textworld

    engine = fast_textworld.FastEnv() if fast else fast_textworld.StockEnv()
    with pytest.raises((TypeError, AttributeError)):
        engine.load({part: GAME[part] for part in ("pddl_domain", "grammar", "pddl_problem")})


def test_what_games_write_is_taken() -> None:
    plain = ("r", "r.name", "o2.indefinite", "r.name or r.id")
    for expression in (*plain, "o.indefinite + ' ' + o.name", "r.name + ' (closed)'", "a.id+b.id"):
        check_expression(expression, "a game")
        assert read_game_data(_with_text("{" + expression + "}"))


def _closed(expression: str) -> bool:
    """Whether Python would do no more with it than look up names, attributes, `or` and `+`."""
    allowed = (ast.Expression, ast.Name, ast.Load, ast.Attribute, ast.BoolOp, ast.Or, ast.BinOp, ast.Add, ast.Constant)
    nodes = list(ast.walk(ast.parse(expression.strip(), mode="eval")))
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return all(isinstance(node, allowed) for node in nodes) and attributes <= {"name", "id", "definite", "indefinite"}


@given(st.text("ro.name_id +'()[]{}|#:\n\t\\\"/*;,=01\u0430", max_size=30))
@examples(300)
@example("or")
def test_whatever_is_taken_only_looks_up(expression: str) -> None:
    try:
        check_expression(expression, "a game")
    except GameError:
        return
    assert _closed(expression)


_PARTS = ("r.name", "print", "//", "{r.name}", "{print}", "#a#", " or ")


@needs_engine
@given(st.lists(st.sampled_from([*"{}[]#|;/ \n\t'", *_PARTS]), max_size=12))
@examples(150)
def test_the_engine_finds_no_expression_that_was_not_checked(parts: list[str]) -> None:
    """Its parser skips comments and stops where it understands nothing; it must not find more than the check."""
    from textworld.envs.pddl import textgen

    text = "".join(parts)
    try:
        check_grammar(f'grammar :: """{json.dumps({"a": [{"rhs": text}]})}""";', "a game")
    except GameError:
        return
    try:
        stack = list(textgen._parse_and_convert(text, rule_name="symbols"))
    except Exception:
        return
    while stack:
        symbol = stack.pop()
        if isinstance(symbol, textgen.EvalSymbol):
            assert _closed(symbol.expression)
        elif isinstance(symbol, textgen.ListSymbol):
            stack.append(symbol.symbol)
        elif isinstance(symbol, textgen.ConditionalSymbol):
            stack.append(symbol.expression)


def _rules(**rules: str) -> str:
    return f'grammar :: """{json.dumps({name: [{"rhs": side}] for name, side in rules.items()})}""";'


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        (_rules(a="#b#", b="x #a#"), "leads? back to itself"), (_rules(a="#a#"), "leads? back to itself"),
        (_rules(**{f"a{i}": f"#a{i + 1}#" * 10 for i in range(9)}), "unfolds to more than"),
        (_rules(a="{#b# | p(r:x)}", b="[{r.name | p(r:x)}]"), "list inside of a list"),
        (_rules(a="{r.name | " + " & ".join(["p(r:x)"] * 7) + "}"), "condition .* is refused"),
        (_rules(a="{r.name | p(r:x) or q(r:x)}"), "condition .* is refused"),
        ('grammar :: """[1]""";', "valid dictionary|an object"), ('grammar :: """{"a": [{"rhs": 3}]}""";', "a.0.rhs"),
        ('grammar :: """{"a": [{"rhs": "x", "weight": "9"}]}""";', "'a'.*`rhs`"),
        ('grammar :: """{"a": [{"condition": "p(r:x)"}]}""";', "'a'.*`rhs`"), ('grammar :: """{""";', "no JSON"),
        ('grammar :: """' + '{"a":' * 5000 + '""";', "deeper"), ("import os", "begins neither"),
        ('action look { template :: "{open}"; }', "'open' is refused"),
        ('action look { feedback :: "{open}"; }', "'open' is refused"),
        ('action look { grammar :: """{"a": [{"rhs": "{open}"}]}"""; }', "'open' is refused"),
        ('action look { template :: "a"; template :: "b"; }', "twice"),
        ('action look { template :: "a"; } action Look { template :: "b"; }', "twice"),
        ('action look { template :: "a";', "begins neither"), ("x" * 300_000, "characters"),
    ],
)  # fmt: skip
def test_other_grammars_are_refused_with_the_reason(grammar: str, message: str) -> None:
    with pytest.raises(GameError, match=rf"mine\.json: the grammar.*(?:{message})"):
        check_grammar(grammar, "mine.json")


def test_of_a_rule_that_is_there_twice_both_are_checked() -> None:
    first = _rules(a="{open}")
    with pytest.raises(GameError, match="'open' is refused"):
        check_grammar(f"{first}\n{_rules(a='fine')}", "a game")


DOMAIN, PROBLEM = GAME["pddl_domain"], GAME["pddl_problem"]
_WIDE = "(:action wide :parameters (?a ?b ?c ?d ?e ?f - item) :precondition () :effect (checked ?a))\n)"


def _wide(count: int) -> str:
    objects = " ".join(f"o{i}" for i in range(count))
    return f"(define (problem p) (:domain household) (:objects {objects} - item) (:init) (:goal ()))"


def _effect(text: str) -> str:
    """The domain with another effect of looking."""
    return DOMAIN.replace(":effect (checked ?l)", text)


def _goal(text: str) -> str:
    """The problem with more in its goal."""
    return PROBLEM.replace("(:goal", f"(:goal {text}")


_NINE = " ".join(f"?p{i}" for i in range(9))
_ACTIONS = "".join(f"(:action a{i} :effect (p))" for i in range(60))


@pytest.mark.parametrize(
    ("domain", "problem", "message"),
    [
        (DOMAIN.rstrip()[:-1] + _WIDE, _wide(20), "ways to fill"),
        (DOMAIN, _wide(5000), "5003 objects"),
        (DOMAIN, "(" * 30 + ")" * 30, "nested deeper"),
        (DOMAIN, "(" * 200_000, "nested deeper"),
        (DOMAIN, PROBLEM + ")", "closing parenthesis"),
        (DOMAIN, PROBLEM[:-3], "cut off"),
        (DOMAIN, PROBLEM.replace("agent1", "a" * 101), "has the word"),
        (DOMAIN, PROBLEM.replace("agent1", "{r}"), "has the word"),
        (DOMAIN, PROBLEM.replace("agent1", "agent\u0131"), "has the word"),
        (DOMAIN, PROBLEM.replace("(:init", "(:include"), "':include'"),
        (DOMAIN, "x" * 1_100_000, "characters"),
        (DOMAIN, _goal("(forall (?x - item) (checked ?x))"), "forall"),
        (DOMAIN, "(define (domain household))", r"define \(problem"),
        (DOMAIN, _goal("(or " + "(holds agent1 x) " * 40 + ")"), "alternatives"),
        (DOMAIN, _goal("(and " + "(holds agent1 x) " * 200 + ")"), "400 words"),
        (DOMAIN, _goal("(or (checked x) (checked y))" * 6), "alternatives"),
        (DOMAIN.replace("(:predicates", "(:derived (p) (q)) (:predicates"), PROBLEM, "':derived'"),
        (DOMAIN.replace("(?a - agent ?l - location)\n    :pre", f"({_NINE})\n    :pre"), PROBLEM, "9 parameters"),
        (_effect(":effect (forall (?x) (checked ?x))"), PROBLEM, "refused"),
        (DOMAIN.replace("(:action look", "(:action look look"), PROBLEM, "malformed"),
        (_effect(""), PROBLEM, "malformed"),
        (_effect(f":effect (and {'(checked ?l)' * 500})"), PROBLEM, "400 words"),
        (DOMAIN.replace("(:action look", f"{_ACTIONS}(:action look"), PROBLEM, "one too many"),
        # The compiled library ends the process at a number that it cannot hold.
        (_effect(":effect (increase (total-cost) 99999999999)"), PROBLEM, "cost .* refused"),
        (_effect(":effect (increase (total-cost) -1)"), PROBLEM, "'-1'"),
        (DOMAIN, PROBLEM.replace("(:init", "(:init (= (total-cost) 99999999999)"), "refused"),
        (DOMAIN, PROBLEM.replace("(:init", "(:init (not (holds agent1 x))"), "refused"),
    ],
)
def test_other_pddl_is_refused_with_the_reason(domain: str, problem: str, message: str) -> None:
    with pytest.raises(GameError, match=rf"mine\.json: the PDDL .*(?:{message})"):
        check_pddl(domain, problem, "mine.json")


@needs_given
def test_all_given_games_are_taken() -> None:
    files = sorted(Path(given_folder()).rglob("game.tw-pddl"))
    assert len(files) == 36
    assert {read_game_data(file).put_template for file in files[::6]} == {"put {o} in/on {r}"}


@pytest.mark.parametrize(
    "template",
    ["put {o.__class__} {r}", "put {o:>999999999} in {r}", "put {0} {r}", "put {o} {o} {r}", "put {o}", "{r!r}"],
)
def test_the_command_for_putting_is_no_format_string(template: str) -> None:
    grammar = GAME["grammar"].replace("put {o} in/on {r}", template)
    with pytest.raises(GameError, match=r"PutObject|refused"):
        GameData("a game", GAME["pddl_domain"], grammar, GAME["pddl_problem"])
    assert put_command("put {o} in {r} {o.__class__}", "apple 1", "fridge 1") == "put apple 1 in fridge 1 {o.__class__}"


@needs_engine
def test_what_only_shows_in_play_is_an_error_of_the_game() -> None:
    for rhs in ("{nobody.name}", "#nowhere#", "{r.name + r}", "{r}"):
        with TextWorldGame(_with_text(rhs)) as game, pytest.raises(GameError, match="the engine cannot play this game"):
            game.reset()


@needs_engine
def test_a_condition_that_asks_for_everything_of_everything_ends() -> None:
    query = " & ".join(f"canContain(r{i}:rtype, o{i}:otype)".lower() for i in range(6))
    game = TextWorldGame(_with_text(f"[{{r1.name | {query}}}]"))
    with game, pytest.raises(GameError, match="go through more than"):
        game.reset()
