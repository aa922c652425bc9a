"""``tape plan``: one plan, why, and the frontier in the terminal and on a page."""

import re
from base64 import b64encode
from pathlib import Path

import pytest

from solvers.check_proof import check
from tape.budget import Resources
from tape.choice.graph import PlanGraph
from tests.tape.commandline import Tape

PLANS = """
plans = [["search", "write"], ["ask", "write"], ["<b>write</b>"]]
budget = { usd = "$0.05" }
[variants]
search = ["web", "deep"]
[cost]
web = { usd = "$0.004", seconds = 2 }
deep = { usd = "3 cents", seconds = 20 }
ask = { usd = "$0.08", seconds = "1 h" }
write = { usd = "$0.01", seconds = 5 }
"<b>write</b>" = { usd = "$0.01", seconds = 5 }
[value]
web = 0.3
deep = 0.6
ask = 1.0
write = 0.1
"<b>write</b>" = 0.1
"""


@pytest.fixture
def plans(tmp_path: Path) -> Path:
    file = tmp_path / "plans.toml"
    file.write_text(PLANS)
    return file


def test_the_plan_and_what_one_more_cent_buys(plans: Path, tape: Tape) -> None:
    written = tape("plan", plans, "--budget", "usd=$0.02")
    assert written.code == 0
    assert written.out == (
        "web\nwrite\nworth 0.4; takes $0.014, 7 s\n"
        "usd stood in the way of ['ask', 'write'], worth 1.1 instead of 0.4: it takes $0.09 ($0.02 given).\n"
        "With usd at $0.04 ($0.02 more), ['deep', 'write'] would be worth 0.7 instead of 0.4.\n"
    )
    none = tape("plan", plans, "--budget", "usd=$0.001")
    assert (none.code, "$0.01 would do" in none.out) == (1, True)


def test_the_frontier_in_the_terminal(plans: Path, tape: Tape) -> None:
    out = tape("plan", plans, "--frontier", "usd, value").out.split("\n\n")[1]
    assert out.splitlines() == [
        "   usd     value",
        "   $0.01   0.1    ██                        <b>write</b>",
        "   $0.014  0.4    █████████                 web, write",
        ">  $0.04   0.7    ███████████████           deep, write",
        "   $0.09   1.1    ████████████████████████  ask, write ($0.04 over)",
    ]
    three = tape("plan", plans, "--frontier", "seconds,usd,value").out
    assert ">  20 s" not in three
    assert re.search(r"> +25 s +\$0\.04 +0\.7", three)
    thin = tape("plan", plans, "--frontier", "usd,value", "--epsilon", "1.5").out.split("\n\n")[1]
    assert len(thin.splitlines()) < 5
    nothing = tape("plan", plans, "--budget", "seconds=1", "--frontier", "usd,value")
    assert (nothing.code, nothing.out.splitlines()[-1]) == (1, "No plan fits, whatever the criteria.")


def test_the_page_holds_what_is_written_as_text(plans: Path, tmp_path: Path, tape: Tape) -> None:
    page = tmp_path / "frontier.html"
    assert tape("plan", plans, "--frontier", "usd,value", "--page", page).out.endswith(f"written: {page}\n")
    text = page.read_text()
    assert "<b>" not in text
    assert "&lt;b&gt;write" in text
    assert text.count("<circle") == 4
    assert text.count('class="point now"') == 1
    assert 'class="curve"' in text
    assert "budget $0.05" in text
    assert "With usd at" not in text  # the next plan is the one that is named already
    assert "Proven" not in page.read_text()
    written = tape("plan", plans, "--frontier", "usd,value", "--page", page, "--proof", tmp_path / "proof").out
    assert f"the same of the frontier, to {tmp_path / 'proof' / 'frontier'}" in written
    for folder, of in ((tmp_path / "proof", ""), (tmp_path / "proof" / "frontier", "frontier-")):
        text = (folder / "proof.json").read_text()
        link = f'<a download="{of}proof.json" href="data:application/json;base64,{b64encode(text.encode()).decode()}">'
        assert link in page.read_text()
        assert check((folder / "problem.json").read_text(), text).startswith("proven: ")
    tape("plan", plans, "--frontier", "usd,seconds,value", "--page", page)
    assert 'class="curve"' not in page.read_text()
    tape("plan", plans, "--budget", "seconds=1", "--frontier", "usd,value", "--page", page)
    assert "<circle" not in page.read_text()


def test_a_plan_graph(tmp_path: Path, tape: Tape) -> None:
    graph = PlanGraph()
    graph.fold(["home", "shop", "goal"], ["walk", "buy"])
    graph.fold(["home", "goal"], ["fly"])
    graph.set_reward("goal", 1.0, goal=True)
    for edge in graph.edges():
        dear = edge.action == "fly"
        graph.set_cost(edge.id, Resources({"usd": 9_000_000 if dear else 1_000_000, "seconds": 10 if dear else 4000}))
    graph.save(tmp_path / "graph.json", start="home")
    out = tape("plan", tmp_path / "graph.json", "--budget", "usd=5", "--frontier", "usd,seconds").out
    assert out.startswith("walk\nbuy\n")
    assert re.search(r"> +\$2 +8 s .* walk, buy\n +\$9 +0\.01 s .* fly \(\$4 over\)", out)


def test_errors_help(plans: Path, tmp_path: Path, tape: Tape) -> None:
    def error(*words: object) -> str:
        written = tape("plan", *words)
        assert written.code == 2
        assert written.err.count("\n") == 1
        return written.err

    assert "did you mean 'seconds'" in error(plans, "--frontier", "second,value")
    assert "name its criteria, for instance --frontier usd,value" in error(plans, "--page", tmp_path / "x.html")
    other = tmp_path / "other.json"
    other.write_text("[1]")
    assert "expected an object with plans, cost" in error(other)
    other.write_text('{"costs": {}}')
    assert "there is no key 'costs'" in error(other)
    other.write_text('{"cost": {}}')
    assert "it has no plans" in error(other)
