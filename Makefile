# Everything is set up by itself, once, and again when what it is made from changes.
PYTHON ?= python3
ENGINE ?= moto
MINUTES ?= 5
BIN := .venv/bin
# The demo needs a tenth of what the tests need: it uses their environment only if it is there.
DEMO := $(if $(wildcard .venv/ready),.venv,.venv-demo)
PIP := -m pip install --quiet --disable-pip-version-check
export PATH := $(CURDIR)/$(BIN):$(CURDIR)/node_modules/.bin:$(PATH)
# The CDK supports Node 22 and 24 (package.json). It still runs on 20, with a warning on every synthesis.
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION := 20

PAGE := adminview/console/static/index.html

.PHONY: help demo test slow e2e soak bench check format synth clean

help: ## Show what there is
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(DEMO)/ready $(if $(filter dynamodb-local,$(ENGINE)),node_modules/ready) ## Show the product at work (ENGINE=moto or dynamodb-local)
	@$(DEMO)/bin/adminview demo --engine $(ENGINE)

test: .venv/ready node_modules/ready $(PAGE) ## Run the test suite, but for the slow tests
	pytest -n auto --dist loadgroup -m "not slow"

slow: .venv/ready node_modules/ready $(PAGE) ## Run the slow tests: large tables, planted faults, plans stopped everywhere, browsers
	pytest -n auto --dist loadgroup -m slow

e2e: .venv/ready node_modules/ready .venv-cloud/ready ## Deploy with the real CDK command to a local cloud, and use that
	ADMINVIEW_MINISTACK=$(CURDIR)/.venv-cloud/bin/ministack pytest tests/e2e -n 2 --dist loadgroup

soak: .venv/ready ## Play random histories against the laws (MINUTES=5, SEED= to repeat)
	@python -m tests.simulator.soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

bench: .venv/ready node_modules/ready ## Measure the sync and the baselines in four minutes, into build/bench (KEEP=1: into the docs)
	@python -m bench $(if $(KEEP),--keep)
	$(if $(KEEP),@python -m tests.support.scale_page)

check: .venv/ready node_modules/ready ## Lint; check the format, the import layers, the spelling, the types and the stacks (cdk-nag, cfn-lint)
	ruff check .
	ruff format --check .
	lint-imports
	codespell
	mypy
	eslint --max-warnings 0 adminview/console/page
	tsc
	python -m tests.infra.checks

format: .venv/ready ## Put the code into form
	ruff check --fix .
	ruff format .

synth: .venv/ready node_modules/ready ## Synthesize the CloudFormation templates into cdk.out
	cdk synth --quiet

clean: ## Remove everything that was set up or built
	rm -rf .venv .venv-demo .venv-cloud node_modules build cdk.out *.egg-info adminview/console/static

.venv/ready: requirements.txt requirements-dev.txt constraints.txt pyproject.toml setup.py
	$(call create,.venv)
	$(BIN)/python $(PIP) -r requirements-dev.txt
	$(BIN)/python $(PIP) --no-deps --editable .
	@touch $@

# Python compiles what the demo imports, which is little of what is installed.
.venv-demo/ready: constraints.txt pyproject.toml setup.py
	$(call create,.venv-demo)
	.venv-demo/bin/python $(PIP) --no-compile --constraint constraints.txt --editable '.[local]'
	@touch $@

define create
	@command -v $(PYTHON) >/dev/null || { echo "AdminView needs Python 3.11 or newer"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "AdminView needs Python 3.11 or newer, and this is " + sys.version)'
	$(PYTHON) -m venv $(1)
endef

# The Python that Lambda has, where there is one.
.venv-cloud/ready: requirements-cloud.txt
	$$(python3.13 -c 'print("python3.13")' 2>/dev/null || echo $(PYTHON)) -m venv .venv-cloud
	.venv-cloud/bin/python $(PIP) -r requirements-cloud.txt
	@touch $@

$(PAGE): node_modules/ready adminview/console/build.py $(wildcard adminview/console/page/*)
	$(PYTHON) adminview/console/build.py

node_modules/ready: package.json package-lock.json
	@command -v npm >/dev/null || { echo "AdminView's tests and its deployment need Node 22 or 24"; exit 1; }
	@node --version | grep -qE '^v(22|24)\.' || echo "the CDK supports Node 22 or 24, and this is $$(node --version)"
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@
