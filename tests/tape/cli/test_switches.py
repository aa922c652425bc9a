"""Every switch of the agents is an option, those that may be left open too."""

import argparse

import pytest

from tape.cli.switches import add_switches, config_of
from tape.engine.settings import TapeConfig
from tape.errors import ConfigError


def parsed(*arguments: str) -> TapeConfig:
    parser = argparse.ArgumentParser()
    add_switches(parser, ())
    return config_of(parser.parse_args(arguments), ())


def test_without_options_every_switch_has_its_default() -> None:
    assert parsed() == TapeConfig()
    assert (parsed().execution, parsed().on_infeasible, parsed().horizon) == (None, None, None)


def test_what_the_domain_settles_can_be_named() -> None:
    config = parsed("--execution", "constrained", "--on-infeasible", "partial", "--horizon", "5")
    assert config == TapeConfig(execution="constrained", on_infeasible="partial", horizon=5)


def test_the_papers_algorithm_is_one_option_and_another_beside_it_counts() -> None:
    assert parsed("--paper") == TapeConfig.paper()
    for said in (["--paper", "--extend", "8", "--probe"], ["--extend", "8", "--probe", "on", "--paper"]):
        assert parsed(*said) == TapeConfig.paper(extend=8, probe=True)
    assert parsed("--paper", "--temperature", "0.7").temperature == 0.7


@pytest.mark.parametrize("option", ["--execution", "--on-infeasible", "--sampling"])
def test_other_words_are_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed(option, "wild")
    assert "invalid choice: 'wild'" in capsys.readouterr().err


def test_the_help_says_who_settles_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed("--help")
    said = " ".join(capsys.readouterr().out.split())
    assert "default: forced for tools, else constrained" in said
    assert "default: stop for tools, else partial" in said
    assert "default: independent for tools and where unseen things are hypothesised, else distinct" in said
    assert "--sampling independent --extend 0" in said
    assert "{constrained,forced,free}" in said
    assert "None" not in said


def test_a_wrong_word_in_python_says_what_is_allowed() -> None:
    with pytest.raises(ConfigError, match=r"setting on_infeasible = 'hope'.*'partial' or 'stop'"):
        TapeConfig.make(on_infeasible="hope")
