# Understudy: what people type. `make help` lists it.
#
# Every target builds with `--release`: one profile, and features that do not depend on the package that is built, so
# that RocksDB's C++ is compiled once for all of them.
CARGO ?= cargo
BUILD = --release --workspace
TARGET = $(or $(CARGO_TARGET_DIR),target)
UNDERSTUDY = $(TARGET)/release/understudy

.DEFAULT_GOAL = help
.PHONY: help setup build demo test scenarios bench lint doc clean

help: ## this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-9s %s\n", $$1, $$2 }'

setup: ## install what is missing (a C++ compiler and libclang, for RocksDB)
	@.ci/setup

build: setup ## build everything, tests and benches included
	$(CARGO) build $(BUILD) --all-targets

demo: setup ## scale a running application up: eager against learner, 1,000,000 keys a task (2 minutes)
	$(CARGO) build --release -p loadgen
	$(UNDERSTUDY) run scale-up --strategy eager,learner --set state.keys=1_000_000

test: ## all tests; installs Chromium for that of the report's page, where it may
	@.ci/setup chromium
	$(CARGO) test $(BUILD)

scenarios: setup ## every built-in scenario, shortened: audits and claims (about 10 minutes)
	$(CARGO) build --release -p loadgen
	@.ci/scenarios $(UNDERSTUDY)

bench: setup ## all criterion benches
	$(CARGO) bench -p bench

lint: setup ## formatting and clippy, as CI runs them
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(BUILD) --all-targets -- -D warnings

doc: setup ## the API documentation
	$(CARGO) doc $(BUILD) --no-deps

clean: ## remove what was built
	$(CARGO) clean
