# Everything that is done with this package from a shell. `make` alone lists it.

SWIFT ?= swift
FUZZ_TIME ?= 60
# The manifest asks more of builds that this file starts.
export HOLDFAST_STRICT = 1
# An import of a module that the manifest does not grant builds silently otherwise.
STRICT = --explicit-target-dependency-import-check error
STAMP = .build/setup.stamp

.DEFAULT_GOAL := help
.PHONY: help setup build test typecheck exports embedded apple-check example lint demo sim nightly \
  bluetooth docs kills sanitize fuzz bench bench-full conformance torture mutants install uninstall clean

help: ## lists the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 14

setup: $(STAMP) ## installs what is missing from Debian

$(STAMP): scripts/setup
	@scripts/setup
	@mkdir -p $(@D) && touch $@

build: setup ## builds everything, tests included
	$(SWIFT) build --build-tests $(STRICT)

test: lint build ## checks the style and what other platforms build, and runs every test
	@SWIFT="$(SWIFT)" scripts/test

typecheck: build ## checks each module as a whole, as a release build does
	@SWIFT="$(SWIFT)" scripts/typecheck

exports: build ## writes the list of names that an app sees, Sources/Holdfast/Exports.swift
	@scripts/exports --write

embedded: setup ## compiles firmware and core in Embedded Swift, and runs links there
	@scripts/embedded

apple-check: setup ## type-checks what an app builds for Apple's platforms and Android
	@SWIFT="$(SWIFT)" scripts/apple-check

example: build ## builds and runs Examples/App, which depends on this package by its path
	@SWIFT="$(SWIFT)" scripts/example

lint: ## checks the style without changing a file
	$(SWIFT) format lint --strict --parallel --recursive Package.swift Sources Tests Benchmarks \
	  Apple Examples

demo: setup ## shows on this machine that a link holds
	$(SWIFT) build -c release --product holdfast $(STRICT)
	.build/release/holdfast demo

PREFIX ?= /usr/local
PROGRAM = .build/release/holdfast
PLACE = $(DESTDIR)$(PREFIX)

install: setup ## installs the program, manual pages and completions; PREFIX=DIR (/usr/local)
	$(SWIFT) build -c release --product holdfast $(STRICT)
	install -d $(PLACE)/bin $(PLACE)/share/man/man1 $(PLACE)/share/zsh/site-functions \
	  $(PLACE)/share/bash-completion/completions $(PLACE)/share/fish/vendor_completions.d
	install -m 755 $(PROGRAM) $(PLACE)/bin/holdfast
	$(PLACE)/bin/holdfast manual $(PLACE)/share/man/man1
	$(PLACE)/bin/holdfast completions bash > $(PLACE)/share/bash-completion/completions/holdfast
	$(PLACE)/bin/holdfast completions zsh > $(PLACE)/share/zsh/site-functions/_holdfast
	$(PLACE)/bin/holdfast completions fish > $(PLACE)/share/fish/vendor_completions.d/holdfast.fish
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "add $(PREFIX)/bin to PATH" ;; esac

uninstall: ## removes what install put below PREFIX
	rm -f $(PLACE)/bin/holdfast $(PLACE)/share/man/man1/holdfast.1 \
	  $(PLACE)/share/man/man1/holdfast-*.1 \
	  $(PLACE)/share/bash-completion/completions/holdfast \
	  $(PLACE)/share/zsh/site-functions/_holdfast \
	  $(PLACE)/share/fish/vendor_completions.d/holdfast.fish

SIMULATE = .build/release/holdfast simulate

sim: setup ## plays 2,600 seeds of every world, and every deliberate defect
	$(SWIFT) build -c release --product holdfast $(STRICT)
	$(SIMULATE) all --break all
	$(SIMULATE) all --preset all --seeds 1..2600

nightly: setup ## plays 100,000 seeds of every world
	$(SWIFT) build -c release --product holdfast $(STRICT)
	$(SIMULATE) all --preset all --seeds 1..100000

torture: setup ## kills, freezes and fills disks of real processes; ROUNDS=N (60), SEED=N
	$(SWIFT) build -c release --product holdfast $(STRICT)
	scripts/torture .build/release/holdfast --rounds $(or $(ROUNDS),60) --seed $(or $(SEED),1)

bluetooth: setup ## a bottle and a phone over the real bluetoothd, in a virtual machine
	$(SWIFT) build --product holdfast $(STRICT)
	scripts/bluetooth

kills: build ## kills phone and backend of health sync KILLS times (500), and compares both at the end
	HOLDFAST_SYNC_KILLS=$(or $(KILLS),500) .build/debug/HoldfastPackageTests.xctest \
	  --testing-library swift-testing --filter '^HoldfastTests\.LongSyncCrashTests'

mutants: setup ## counts planted bugs that are caught; SAMPLE=N or ALL=1, SEED=N, SEEDS=N, MODULES=Core
	@SWIFT="$(SWIFT)" scripts/mutants $(if $(ALL),--all,--sample $(or $(SAMPLE),200)) \
	  --seed $(or $(SEED),1) $(SEEDS:%=--seeds %) $(MODULES:%=--modules %)

docs: setup ## builds the reference of the public modules into .build/docs
	@SWIFT="$(SWIFT)" scripts/docs

bench: setup ## measures beside peers and limits, under 5 minutes; ONLY=ingest for one of them
	@SWIFT="$(SWIFT)" scripts/bench $(ONLY:%=--only %)

bench-full: setup ## the same with more rounds and larger worlds
	@SWIFT="$(SWIFT)" scripts/bench --full $(ONLY:%=--only %)

conformance: setup ## heads, TLS refusals, Autobahn; QUICK=1 without slow cases, ONLY=tables
	$(SWIFT) build -c release --product HoldfastBench $(STRICT)
	scripts/conformance

sanitize: setup ## runs the risky suites under the thread and the address sanitizer
	@SWIFT="$(SWIFT)" scripts/sanitize

fuzz: setup ## lets a fuzzer think up input for every decoder, FUZZ_TIME seconds each (60)
	@SWIFT="$(SWIFT)" FUZZ_TIME="$(FUZZ_TIME)" scripts/fuzz

clean: ## removes everything that was built
	rm -rf .build .b-tsan .b-asan .b-fuzz
