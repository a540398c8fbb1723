# What people and CI do with ringway. Each target installs what it lacks (Debian) and says so; `make` alone lists them.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-print-directory
# Where rustup puts cargo, and Debian its servers: not every shell looks there.
export PATH := $(HOME)/.cargo/bin:$(PATH):/usr/sbin

MINUTES     ?= 1
TARGET_DIR  := $(or $(CARGO_TARGET_DIR),target)
HOST        := $(shell PATH="$(PATH)" rustc -vV 2>/dev/null | sed -n 's/^host: //p')

.DEFAULT_GOAL := help
.PHONY: help run test release bench soak mutants fuzz conformance clean install format docs lints tests programs demo bench-smoke asan fuzz-smoke

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{ printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## start a router and a demo origin on this machine, until Ctrl-C
	@tools/install
	@cargo build --release --locked -p ringway -p ringway-loadgen
	@tools/demo $(TARGET_DIR)/release

test: ## everything that CI checks, in stages, with a table of minutes at the end
	@tools/stages install format docs lints tests demo bench-smoke asan fuzz-smoke

release: ## ringway as it is shipped and measured, built by a profile of itself under load (6 minutes)
	@tools/install release
	@tools/release $(TARGET_DIR)

bench: ## the parts timed alone, then ringway beside nginx, haproxy and pingora: tables with ratios; then counts
	@tools/install bench release
	@cargo build --release --locked -p ringway -p ringway-loadgen -p ringway-bench
	@tools/release $(TARGET_DIR)
	@cargo build --release --locked --manifest-path bench/peers/pingora/Cargo.toml
	@$(TARGET_DIR)/release/ringway-bench micro
	@$(TARGET_DIR)/release/ringway-bench compare --ringway $(TARGET_DIR)/trained/ringway --dataset 4000000
	@$(TARGET_DIR)/release/ringway-bench generators
	@$(TARGET_DIR)/release/ringway-bench ratchet

soak: install ## the tests with their long proofs at full length: bodies of 1 GiB, crowds of 9,000, a million mixed requests
	@RINGWAY_SOAK=20 cargo test --locked --workspace --lib --bins --tests

mutants: install ## faults made in the table one by one, each of which its tests must notice (state/mutations.txt)
	@tools/mutants $(TARGET_DIR)

fuzz: install ## every fuzz target, MINUTES=1 each; what it learns stays out of git (tests/fuzz/README.md)
	@tools/fuzz $$(( $(MINUTES) * 60 ))

conformance: ## the corpus of HTTP/1.1 cases against nginx and haproxy too: the tables in docs/conformance.md
	@tools/install tests bench
	@UPDATE_CONFORMANCE=1 cargo test --locked --test path conformance

clean: ## remove what was built
	@cargo clean
	@rm -rf tests/fuzz/target bench/peers/*/target

# The stages of `make test`. Each also runs alone.

install:
	@tools/install tests

format:
	@cargo fmt --all --check -- --color $(or $(CARGO_TERM_COLOR),never)

docs:
	@tools/check-docs

# The flags and the profile are those of the tests, so that no package is made twice.
lints: install
	@cargo clippy --locked --workspace --all-targets -- -D warnings

tests: install
	@cargo test --locked --workspace --lib --bins --tests --no-fail-fast

# Built with the tests: alone, the programs would want some packages with other features.
programs: install
	@cargo build --locked --workspace --lib --bins --tests

# `make run` and the guide as a newcomer meets them: every line of theirs must answer as they say.
demo: programs
	@tools/demo --check $(TARGET_DIR)/debug
	@tools/first-hour $(TARGET_DIR)/debug

# Every micro-benchmark once, on little data, to see that it runs. The figures mean nothing here.
bench-smoke: programs
	@$(TARGET_DIR)/debug/ringway-bench micro --dataset 4000 --runs 1 --out $(TARGET_DIR)/bench-smoke
	@$(TARGET_DIR)/debug/ringway-bench generators --rounds 1 --seconds 1
	@$(TARGET_DIR)/debug/ringway-bench churn --dataset 100000 --rounds 1 --seconds 1 --steady 5 --rate 200 --burst 2000 --out $(TARGET_DIR)/bench-smoke

# The ring driver against its fake kernel, under AddressSanitizer, which needs a switch on the stable compiler.
asan: install
	@RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=$(TARGET_DIR)/asan \
	  cargo test --locked -p ringway --lib --target $(HOST) runtime::ring

fuzz-smoke: install
	@tools/fuzz 5
