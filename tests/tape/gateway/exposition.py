"""A strict reader of Prometheus' text format 0.0.4, which takes nothing that Prometheus would refuse or mistake."""

from __future__ import annotations

import re

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
_VALUE = re.compile(r"[+-]?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|Inf|NaN)")
_SUFFIXES = {"counter": {""}, "gauge": {""}, "histogram": {"_bucket", "_sum", "_count"}}

Sample = tuple[str, frozenset[tuple[str, str]]]


def parsed(text: str) -> dict[Sample, float]:
    """All samples by name and labels.

    Raises:
        AssertionError: Something is not as the format has it.
    """
    assert text.endswith("\n")
    numbers: dict[Sample, float] = {}
    families: dict[str, str] = {}
    lines = text.removesuffix("\n").split("\n")
    for number, line in enumerate(lines):
        if line.startswith("# HELP "):
            name, _, rest = line.removeprefix("# HELP ").partition(" ")
            assert _NAME.fullmatch(name), line
            assert re.fullmatch(r"(?:[^\\]|\\[\\n])*", rest), line
            assert lines[number + 1].startswith(f"# TYPE {name} "), line
        elif line.startswith("# TYPE "):
            name, _, kind = line.removeprefix("# TYPE ").partition(" ")
            assert name not in families, f"{name} comes twice"
            assert (kind == "counter") == name.endswith("_total"), line
            families[name] = kind
        else:
            name, labels, value = _sample(line)
            family = next(reversed(families))
            assert name.removeprefix(family) in _SUFFIXES[families[family]], f"{line}: not of {family}"
            assert (name, labels) not in numbers, f"{line} comes twice"
            numbers[name, labels] = value
    for family, kind in families.items():
        if kind == "histogram":
            _check_histogram(numbers, family)
    return numbers


def _sample(line: str) -> tuple[str, frozenset[tuple[str, str]], float]:
    name = _NAME.match(line)
    assert name, line
    rest, labels = line[name.end() :], list[tuple[str, str]]()
    if rest.startswith("{"):
        position = 1
        while rest[position] != "}":
            label = _LABEL.match(rest, position)
            assert label, line
            labels.append((label[1], re.sub(r"\\(.)", lambda match: {"n": "\n"}.get(match[1], match[1]), label[2])))
            position = label.end()
            if rest[position] == ",":
                position += 1
            else:
                assert rest[position] == "}", line
        rest = rest[position + 1 :]
    assert len({label for label, _ in labels}) == len(labels), line
    assert rest.startswith(" "), line
    assert _VALUE.fullmatch(rest[1:]), line
    return name[0], frozenset(labels), float(rest[1:])


def _check_histogram(numbers: dict[Sample, float], family: str) -> None:
    series: dict[frozenset[tuple[str, str]], list[tuple[float, float]]] = {}
    for (name, labels), value in numbers.items():
        if name == f"{family}_bucket":
            [most] = [float(text) for label, text in labels if label == "le"]
            series.setdefault(frozenset(pair for pair in labels if pair[0] != "le"), []).append((most, value))
    for labels, buckets in series.items():
        bounds, counts = zip(*buckets, strict=True)
        assert list(bounds) == sorted({*bounds}), "bounds rise"
        assert bounds[-1] == float("inf")
        assert list(counts) == sorted(counts), "counts are of all below"
        assert counts[-1] == numbers[f"{family}_count", labels]
        assert numbers[f"{family}_sum", labels] >= 0
