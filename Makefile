# One command for each thing one does here; every target first sets up what it needs.
#
#   make check        format, lint, types, import contract, rules about the repository, links of the pages
#   make test         what needs no editor and few processes, and one story through a real server
#   make test-stories the main job in each real editor and server: about ten minutes
#   make test-real    what needs servers, real editors, PostgreSQL or many processes: an hour or more
#   make test-newer   the unit tests on each newer Python that this machine has
#   make test-newest  the unit tests on the newest Python that this machine has
#   make test-all     all of these, the long ones, and a small real model
#   make coverage     that no line and no branch of the loop is left out by its tests
#   make audit        known faults in what the locks name; asks advisory services
#   make sbom         dist/agent-ls.cdx.json: everything that the locks name
#   make dist         dist/: wheel and sdist, checked, with REPOSITORY=https://… for an index
#   make vsix         vscode-client/dist/agent-ls.vsix, with REPOSITORY=https://… for a marketplace
#   make docs         dist/site: the documentation as a site, to be read from the disk
#   make demo         the main job on a small project, with the scripted model
SHELL := /bin/sh
PY := .venv/bin/python
NODE_TOOLS := tools/node/node_modules/.package-lock.json
CLIENT := $(wildcard vscode-client/package.json)
CLIENT_MODULES := vscode-client/node_modules/.package-lock.json

# Where this is set, each of the hundreds of processes that tests start would compile its modules again.
unexport PYTHONDONTWRITEBYTECODE

# On two cores a third worker uses what the others leave while they wait for editors and servers.
PYTEST := $(PY) -m pytest -n 3 --dist worksteal

.PHONY: help setup node-tools editors real-model format generate lock audit sbom wheel dist formula clean demo docs bench \
	check check-format check-lint check-types check-imports check-tidy \
	vsix test test-python test-client test-stories test-real test-newer test-newest test-all coverage

help:
	@sed -n 's/^#   //p' Makefile

setup:
	@scripts/setup.sh

# pyright and tsc.
node-tools: $(NODE_TOOLS)
$(NODE_TOOLS): tools/node/package-lock.json
	@command -v npm >/dev/null || { echo "npm is needed for pyright and tsc: install Node.js 20 or newer" >&2; exit 1; }
	cd tools/node && npm ci --silent
	@touch $@

# Pyright takes longer than all other parts together, so they run beside it.
# With -k every part reports, also after one has failed.
check: setup
	@$(MAKE) --no-print-directory -j 2 --output-sync=target \
		check-types check-format check-lint check-imports check-tidy docs

check-format: setup
	.venv/bin/ruff format --check .

check-lint: setup
	.venv/bin/ruff check .

check-types: setup node-tools
	tools/node/node_modules/.bin/pyright

check-imports: setup
	.venv/bin/lint-imports --no-logo

check-tidy: setup
	$(PY) -m pytest -q tests/tidy

format: setup
	.venv/bin/ruff check --fix-only --quiet .
	.venv/bin/ruff format .

# Without CI=true a machine that cannot take an editor still runs everything else, and says what it left out.
editors: setup
	@if [ -x tests/editors/install.sh ]; then \
		PYTHON="$(CURDIR)/$(PY)" tests/editors/install.sh $(EDITORS) || { [ "$$CI" != true ] && \
		echo "not every editor could be installed; their tests will be skipped" >&2; }; \
	fi

# Empty: what the stories need, so that CI builds no second VS Code.
test-real test-all: EDITORS := all

# Type checks and lint of the panel use one core each, so they run beside the Python tests.
test: setup $(if $(CLIENT),$(CLIENT_MODULES))
	@$(MAKE) --no-print-directory -j 2 CLIENT_LOG=.cache/client.log test-python test-client

UNIT := not long and not editor and not e2e and not heavy

# The rules about the repository are a part of `make check`.
test-python: setup
	$(PYTEST) -m "($(UNIT)) or smoke" --ignore tests/tidy

test-stories: setup node-tools editors $(CLIENT_MODULES)
	scripts/test_editors.sh story

test-real: setup node-tools editors $(CLIENT_MODULES)
	scripts/test_editors.sh "(editor or e2e or heavy) and not long and not smoke"

test-client: setup $(if $(CLIENT),$(CLIENT_MODULES))
ifneq ($(CLIENT),)
	cd vscode-client && $(if $(CLIENT_LOG),{ npm test >../$(CLIENT_LOG) 2>&1; code=$$?; cat ../$(CLIENT_LOG); exit $$code; },npm test)
endif

$(CLIENT_MODULES): vscode-client/package-lock.json
	cd vscode-client && npm ci --silent
	@touch $@

test-newer: setup
	scripts/test_newer.sh "$(UNIT)" -n 2 --dist worksteal --ignore tests/tidy

test-newest: setup
	NEWEST=1 scripts/test_newer.sh "$(UNIT)" -n 2 --dist worksteal --ignore tests/tidy

# Without CI=true a machine that cannot build it still runs everything else, and says what it left out.
real-model: setup
	@tests/real_model/install.sh || { [ "$$CI" != true ] && \
		echo "the small real model could not be installed; its tests will be skipped" >&2; }

test-all: setup node-tools editors $(CLIENT_MODULES) real-model test-client
	scripts/test_newer.sh "not long and not editor and not e2e" -n 2 --dist worksteal
	$(PYTEST) -m "long or not long" --timeout 3600

# The tracer of Python 3.11 loses lines behind an await that failed, so a newer interpreter measures.
coverage: setup node-tools
	@python=$$(scripts/newer_venvs.sh | sed -n 1p) && $${python:-$(PY)} -m pytest -n 2 --dist worksteal \
		-m "not long and not editor and not e2e" tests/loop tests/policies tests/session tests/lsp tests/tools \
		--cov=agent_ls.loop --cov-branch --cov-report=term-missing:skip-covered --cov-fail-under=100

docs: setup
	$(PY) tools/build_site.py

demo: setup
	@[ -e $(NODE_TOOLS) ] || ! command -v npm >/dev/null || $(MAKE) --no-print-directory --silent node-tools
	@PATH="$(CURDIR)/tools/node/node_modules/.bin:$$PATH" .venv/bin/agent-ls demo

bench: setup node-tools
	$(PY) -m benchmarks

# What is generated from our own types; a test says when it is stale.
generate: setup
	$(PY) tools/generate_wire.py
	$(PY) -m tools.generate_run_events
	$(PY) -m tools.generate_man
	$(PY) -m tools.generate_panel_stories
	$(PY) tools/generate_settings.py
	$(PY) tools/generate_editors_page.py

lock:
	scripts/lock.sh

audit:
	scripts/audit.sh

sbom: setup
	$(PY) tools/generate_sbom.py

# Without the network, once `npm ci` has run.
vsix: $(CLIENT_MODULES)
	cd vscode-client && npm run --silent package

wheel: setup
	$(PY) -m hatchling build --target wheel

# The sdist's address is below REPOSITORY=https://…, else it is the file here.
formula: dist
	$(PY) tools/homebrew.py

# What an index gets, with REPOSITORY=https://… for its links.
dist: setup
	$(PY) -m hatchling build
	$(PY) -m twine check --strict dist/agent_ls-*.whl dist/agent_ls-*.tar.gz

clean:
	rm -rf .venv .cache dist tools/node/node_modules vscode-client/node_modules vscode-client/dist
	rm -rf .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage*
	find agent_ls tests benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
