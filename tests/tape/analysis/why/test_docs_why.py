"""docs/why.md names every key of the JSON, and no other."""

import re

from tape.analysis.why import rounds
from tests.places import ROOT
from tests.tape.analysis.why.shop import acted, episode, finished, folded, selection

PAGE = (ROOT / "docs" / "why.md").read_text(encoding="utf-8")


def test_every_key_of_a_round_is_documented() -> None:
    [one] = rounds(episode(folded(), selection("ask cheap"), acted("ask cheap"), finished()))
    data = one.to_dict()
    table = PAGE.split("## JSON")[1]
    named = set(re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in re.findall(r"^\| .*", table, re.M))))
    assert named - {"key"} == set(data) - {"key"}
    path = table.split("Of a path:")[1]
    listed = set(re.findall(r"`(\w+)`", path))
    assert listed == {key for key in data["chosen"] if not key.endswith("_text")}
