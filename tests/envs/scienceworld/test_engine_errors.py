"""The errors where the simulator cannot be played; nothing here needs it."""

import pytest

from envs.scienceworld import engine
from envs.scienceworld.errors import EngineError, NotPlayableError
from tape.errors import MissingExtraError


def test_another_version_is_refused(monkeypatch):
    pytest.importorskip("scienceworld.constants")
    monkeypatch.setattr(engine, "version", lambda name: "2.0.0")
    with pytest.raises(NotPlayableError, match=r"scienceworld 2\.0\.0 is installed.*1\.2\.3"):
        engine._packages()


def test_without_java_the_error_names_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(NotPlayableError, match="needs a Java runtime") as raised:
        engine._java()
    assert isinstance(raised.value, MissingExtraError)
    assert "needs a Java runtime" in (engine.missing() or "")


def test_java_home_goes_before_path(monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/opt/java")
    assert engine._java(lambda name: name if "/opt/java" in name else "java") == "/opt/java/bin/java"
    assert engine._java(lambda name: None if "/opt/java" in name else name) == "java"


def test_a_java_that_does_not_run_the_simulator_is_reported(monkeypatch, tmp_path):
    pytest.importorskip("scienceworld.constants")
    fake = tmp_path / "bin" / "java"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'java version 1.4' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError, match=r"did not start with .*bin/java \(java version 1\.4\).*version 8 or newer"):
        engine._Jvm()
