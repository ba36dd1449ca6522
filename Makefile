# Each command makes .venv when it is missing, and installs again when pyproject.toml has changed.

PYTHON ?= python3
VENV := .venv
INSTALLED := $(VENV)/.installed
RUN := $(VENV)/bin/python
BAZEL := PATH="$(CURDIR)/$(VENV)/bin:$$PATH" bazel

UV := $(VENV)/bin/uv
# Environments of their own, in which make tries other versions.
LOWEST := build/lowest
BACKENDS := build/backends

.PHONY: demo test test-slow test-lowest test-backends lint docs dist bench reproduce campaign bazel

demo: $(INSTALLED)
	$(RUN) -m keras_stackrnn.demo

# Most of the time goes into compiling, one core at a time: two processes take little more than half of it. Each
# begins with half of the files, whose tests share what was compiled, and takes over what the other has left.
test: $(INSTALLED)
	$(RUN) -m pytest -n 2 --dist worksteal

test-slow: $(INSTALLED)
	$(RUN) -m pytest -m slow

# The oldest versions that pyproject.toml allows, as a set.
test-lowest: $(INSTALLED)
	$(UV) venv --quiet --clear --python $(RUN) $(LOWEST)
	$(UV) pip install --quiet --python $(LOWEST) --resolution lowest-direct --editable ".[test]"
	$(LOWEST)/bin/python -m pytest -n 2 --dist worksteal

# The cells on JAX and torch: what runs there is started by the tests with `another_backend` in their names.
test-backends: $(INSTALLED)
	$(UV) venv --quiet --clear --python $(RUN) $(BACKENDS)
	$(UV) pip install --quiet --python $(BACKENDS) --torch-backend cpu --editable ".[test]" jax torch
	$(BACKENDS)/bin/python -m pytest -k another_backend

# The website, in build/docs; the notebooks are executed for it.
docs: $(INSTALLED)
	$(RUN) -m sphinx --fail-on-warning --keep-going --quiet -c docs -d build/doctrees . build/docs
	@echo "build/docs/index.html"

# What is uploaded, and a try of it in an empty environment.
dist: $(INSTALLED)
	rm -rf dist
	$(RUN) -m build --outdir dist .
	$(RUN) -m twine check --strict dist/*
	$(RUN) .ci/try_wheel.py dist/*.whl

lint: $(INSTALLED)
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy
	$(RUN) -m check_jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(RUN) -m check_jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff

# Hours; what is finished is not repeated. The language models: reproduce/penn_treebank.py --manual_dir=DIR.
reproduce: $(INSTALLED)
	$(RUN) reproduce/patterns.py

# Random faults against what docs/security.md promises, an hour of them unless told otherwise:
# make campaign MINUTES=300. It goes on from where the last one ended.
MINUTES ?= 60
campaign: $(INSTALLED)
	$(RUN) -m campaign --minutes=$(MINUTES)

bench: $(INSTALLED)
	$(RUN) benchmarks/train_step.py

bazel: $(INSTALLED)
	@command -v bazel > /dev/null || { \
	  echo "make bazel found no bazel on PATH: install Bazel (Debian: apt-get install bazel-bootstrap)." >&2; \
	  exit 1; }
	$(BAZEL) build //...
	$(BAZEL) test //:cells

$(INSTALLED): pyproject.toml
	@$(RUN) -m pip --version > /dev/null 2>&1 || { $(make_venv); }
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable ".[test,docs,dist]"
	@touch $@

define make_venv
version=$$($(PYTHON) --version 2>&1) || version="not there"; \
case "$$version" in \
  "Python 3.11."* | "Python 3.12."* | "Python 3.13."*) $(PYTHON) -m venv $(VENV) ;; \
  *) echo "keras-stackrnn needs Python 3.11, 3.12 or 3.13, but $(PYTHON) is $$version:" \
       "name another one, as in \`make PYTHON=python3.12 $(MAKECMDGOALS)\`." >&2; \
     exit 1 ;; \
esac
endef
