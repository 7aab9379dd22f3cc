# `make demo` and `make test` are the two to know; `make` alone lists them all.
# What they make lies in .venv, .venv-test, .ansible and .cache, which git ignores; a demo also fills the places that its
# inventory names.

INVENTORY ?= inventories/local
# More arguments for ansible-playbook, such as ARGS='--verbose'.
ARGS ?=
SCENARIO ?= local

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# This checkout's settings, whatever folder or shell make was called from.
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
unexport ANSIBLE_COLLECTIONS_PATH ANSIBLE_ROLES_PATH PYTHONPATH PYTHONHOME
# Colours are for terminals.
ifeq ($(MAKE_TERMOUT),)
export NO_COLOR := 1
endif
# The test tools call each other by name.
WITH_TOOLS := PATH="$(CURDIR)/.venv-test/bin:$$PATH"

# Not $(MAKE) itself, whose line `make -n` would run.
SELF := $(MAKE)

COLLECTION := .ansible/collections/ansible_collections/rlops/verl
# A program of this checkout, under the name that its parts import each other by.
AS_COLLECTION := PYTHONPATH=.ansible/collections .venv/bin/python -m ansible_collections.rlops.verl

.PHONY: help
help: ## list these targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 24

# ---- Setting up

.PHONY: setup
setup: collection ## the controller's environment .venv with ansible-core
	@PYTHON="$(PYTHON)" tests/tools/make_venv.sh .venv requirements/controller.txt

.PHONY: setup-test
setup-test: setup
	@PYTHON="$(PYTHON)" tests/tools/make_venv.sh .venv-test requirements/test.txt

# Ansible finds collections by path: ansible_collections/rlops/verl has to lead to this checkout.
.PHONY: collection
collection:
	@mkdir -p $(dir $(COLLECTION)) && ln -sfn ../../../.. $(COLLECTION)

# ---- Running

# Arguments with which ansible-playbook runs nothing, so that there is no result to speak of.
DRY := --check -C --syntax-check --list-hosts --list-tags --list-tasks

.PHONY: demo
demo: ## the whole pipeline on this machine, from nothing to a loaded model
	@trap : INT; started=$$(date -u +%Y-%m-%dT%H:%M:%SZ); code=0; \
	$(SELF) setup || { echo "demo: failed stage=setup"; exit 1; }; \
	.venv/bin/ansible-playbook site.yml -i "$(INVENTORY)" $(ARGS) || code=$$?; \
	$(if $(filter $(DRY),$(ARGS)),exit $$code;) \
	$(AS_COLLECTION).tests.e2e.demo_result --ansible .venv/bin/ansible --inventory "$(INVENTORY)" \
		--started "$$started" --exit-code "$$code" --arguments="$${ARGS:-}"

.PHONY: check
check: setup ## what `make demo` would do, and what is wrong with it; nothing is changed
	@.venv/bin/ansible-playbook site.yml -i "$(INVENTORY)" --check --diff $(ARGS)

.PHONY: teardown
teardown: setup ## stop the cluster that the demo started
	@.venv/bin/ansible-playbook playbooks/teardown.yml -i "$(INVENTORY)" $(ARGS)

# ---- Testing

.PHONY: test
test: ## every test below, all of them even if one fails
	@tests/tools/steps.sh lint unit sanity molecule runtime-tests

.PHONY: lint
lint: setup-test ## ansible-lint, yamllint, ruff, mypy, changelog
	@$(WITH_TOOLS); export PATH; failed=""; \
	run() { echo "$$1"; "$$@" || failed="$$failed $$1"; }; \
	run ruff check --quiet --output-format concise .; \
	run mypy -p ansible_collections.rlops.verl.plugins.module_utils; \
	run yamllint --strict .; \
	run antsibull-changelog lint; \
	run ansible-lint; \
	if [ -n "$$failed" ]; then echo "lint: failed:$$failed"; exit 1; fi; \
	echo "lint: ok"

.PHONY: unit
unit: setup-test ## unit tests
	@.venv-test/bin/python -m pytest tests/unit $(ARGS)

.PHONY: sanity
sanity: setup-test ## ansible-test sanity
	@tests/tools/sanity.sh .venv .venv-test $(ARGS)

.PHONY: molecule
molecule: setup-test ## the pipeline of the local inventory: converge, idempotence, verify (SCENARIO=local)
	@$(WITH_TOOLS) MOLECULE_GLOB='molecule/*/molecule.yml' MOLECULE_COMMAND_BORDERS=0 \
	MOLECULE_EPHEMERAL_DIRECTORY="$(CURDIR)/.cache/molecule/$(SCENARIO)" \
	molecule test --destroy never --scenario-name "$(SCENARIO)"

.PHONY: runtime-tests
runtime-tests: setup-test ## tests that run in a node's environment, with its torch, ray and verl
	@$(AS_COLLECTION).tests.tools.runtime_tests --ansible .venv/bin/ansible --inventory "$(INVENTORY)" $(ARGS)

# ---- Maintaining

.PHONY: lock
lock: setup-test ## make the locks anew from their *.in files (ARGS=--upgrade for newer versions)
	@.venv-test/bin/python tests/tools/make_lock.py --uv .venv-test/bin/uv $(ARGS)

.PHONY: role-docs
role-docs: setup-test ## write the roles' READMEs from their argument specs
	@.venv-test/bin/python tests/tools/make_role_docs.py $(ARGS)

.PHONY: clean
clean: ## remove what make made in this folder; the cluster, its runs and its models stay
	@rm -rf .venv .venv-test .ansible .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
