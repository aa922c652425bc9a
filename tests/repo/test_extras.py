"""Which extras this machine can run."""

import pytest

from tools import extras
from tools.extras import Extra, survey


def met() -> None:
    return None


def unmet() -> str:
    return "it needs a thing, and there is none"


def test_declared_extras_are_surveyed_and_the_first_unmet_need_is_named() -> None:
    found = survey({"a": ["x"], "b": ["y"], "c": []}, {"a": (met, unmet), "b": (met,)})
    assert [(extra.name, extra.missing) for extra in found] == [("a", unmet()), ("b", None), ("c", None)]
    declared = {"dev": ["pytest"], "ray": ["ray"], "local": ["torch"], "all": ["tape-planner[local]"]}
    assert survey(declared) == [Extra("ray", ("ray",), None)], "what comes with the project is left out"


def test_missing_compiler_and_java_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras.shutil, "which", lambda name: None)
    alfworld, scienceworld = survey({"alfworld": ["alfworld"], "scienceworld": ["scienceworld"]})
    assert "C compiler" in (alfworld.missing or "")
    assert "Java" in (scienceworld.missing or "")


def test_java_that_does_not_start_is_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nexit 1\n")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "does not run" in (extras.java_runtime() or "")
    java.write_text("#!/bin/sh\nexit 0\n")
    assert extras.java_runtime() is None


def test_compiler_from_cc_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    compiler = tmp_path / "mycc"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert extras.c_compiler() is not None
    monkeypatch.setenv("CC", "mycc -m64")
    assert extras.c_compiler() is None


def test_a_cpp_build_needs_a_compiler_and_two_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    there = {"g++", "make"}
    monkeypatch.setattr(extras.shutil, "which", lambda name: f"/usr/bin/{name}" if name in there else None)
    assert extras.cpp_build() == "it needs cmake to be built, not found on PATH"
    there.add("cmake")
    assert extras.cpp_build() is None
    there.remove("g++")
    assert "C++ compiler" in (extras.cpp_build() or "")
