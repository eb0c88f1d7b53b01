# The tasks for this package. `make` without a target lists them.

SWIFT ?= swift
FUZZ_TIME ?= 60
# Builds for tests and checks treat warnings as errors. Installed programs do not, since a later
# compiler may have more warnings.
build test test-optimized embedded apple-check example bluetooth kills instructions sanitize docs \
  bench bench-full conformance fuzz sim torture peers: export HOLDFAST_STRICT = 1
# Optimized worlds of the simulator specialize what they share.
test-optimized bench bench-full conformance sim portable kills torture peers \
  instructions: export HOLDFAST_SPECIALIZE = 1
# Makes an import that the manifest does not declare an error.
STRICT = --explicit-target-dependency-import-check error
# Nothing reads the index of the sources, since Tests/XCTMain.swift finds the tests. It takes a tenth of
# the compiler's time.
UNINDEXED = --disable-index-store
# Whole modules take three quarters of the compiler's time. Without -num-threads the package manager misses
# the objects of each file. The last two options leave out what the compiler says of each whole module.
WHOLE = -Xswiftc -wmo -Xswiftc -num-threads -Xswiftc 2 -Xswiftc -disable-batch-mode -Xswiftc -suppress-remarks
# The verifier of LLVM, which looks for faults of the compiler, takes a third of an unoptimized build.
UNVERIFIED = -Xswiftc -Xfrontend -Xswiftc -disable-llvm-verify
# The options of unoptimized builds. Builds in one folder need the same options, else they compile
# everything again.
FAST = $(UNINDEXED) $(WHOLE) $(UNVERIFIED)
DEBUG = $(STRICT) $(FAST)
# Released programs are stripped. Installed programs contain the Swift runtime, so that they run on a
# machine without a toolchain.
RELEASE = $(SWIFT) build -c release $(STRICT) -Xlinker -s
PORTABLE = .build/portable
STAMP = .build/setup.stamp
PROGRAMS_STAMP = .build/programs.stamp

.DEFAULT_GOAL := help
.PHONY: help setup build build-options test test-optimized web embedded apple-check example lint \
  demo portable bare sim nightly bluetooth docs playground kills sanitize fuzz bench bench-full \
  instructions conformance torture peers mutants install deb uninstall clean

help: ## lists the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 14

setup: $(STAMP) ## installs missing Debian packages

$(STAMP): scripts/setup
	@scripts/setup
	@mkdir -p $(@D) && touch $@

$(PROGRAMS_STAMP): scripts/setup
	@scripts/setup --programs
	@mkdir -p $(@D) && touch $@

build: setup ## builds everything, or with HOLDFAST_SUITES=A,B what these suites need
	$(SWIFT) build --build-tests $(DEBUG)

# Prints the options of a build in .build, for scripts that build something else there.
build-options:
	@echo $(DEBUG)

test: lint build ## checks the style and iOS, builds an app, and runs every test
	@SWIFT="$(SWIFT)" scripts/test

# With all seeds, and with optimized modules, which take ten times as long to compile.
OPTIMIZED = .build/optimized
test-optimized: export HOLDFAST_OPTIMIZE = 1
test-optimized: export HOLDFAST_SEEDS = all
test-optimized: setup ## runs every test with all seeds and optimized modules
	$(SWIFT) build --build-tests $(DEBUG) --scratch-path $(OPTIMIZED)
	@SWIFT="$(SWIFT)" scripts/test --checks none \
	  --program $(OPTIMIZED)/debug/HoldfastPackageTests.xctest

web: ## joins the pages in Web into the files that the programs embed
	@scripts/web

embedded: setup ## compiles firmware and core in Embedded Swift, and runs links there
	@scripts/embedded

apple-check: setup ## type-checks an app's modules for Apple's platforms and Android
	@SWIFT="$(SWIFT)" scripts/apple-check

example: build ## builds and runs Examples/App, which depends on this package by its path
	@SWIFT="$(SWIFT)" scripts/example

LINTED ?= Package.swift Sources Tests Benchmarks Apple Examples

lint: ## checks the style without changing a file
	$(SWIFT) format lint --strict --parallel --recursive $(LINTED)

# Without debug information and checked imports, and in a folder of its own, so that neither this build
# nor that of the tests compiles the other's work again.
DEMO = .build/demo
demo: $(PROGRAMS_STAMP) ## shows on this machine that a link survives faults
	@test -x $(DEMO)/debug/holdfast || echo "demo: building holdfast without optimization," \
	  "which takes about 3 minutes on two cores; make install builds the optimized program"
	$(SWIFT) build --product holdfast $(FAST) -debug-info-format none --scratch-path $(DEMO)
	$(DEMO)/debug/holdfast demo

PREFIX ?= /usr/local
PROGRAMS = $(PORTABLE)/release
INSTALLED = holdfast holdfast-sim
PLACE = $(DESTDIR)$(PREFIX)

portable: $(PROGRAMS_STAMP) ## builds the programs with the Swift runtime into .build/portable
	for program in $(INSTALLED); do \
	  $(RELEASE) --product $$program --static-swift-stdlib --scratch-path $(PORTABLE) || exit 1; \
	done

# Root often has no Swift in its PATH, and installs programs that another user has built.
install: ## installs programs, manual pages and completions; PREFIX=DIR (/usr/local)
	@if command -v "$(SWIFT)" >/dev/null; then $(MAKE) portable; \
	elif [ ! -x "$(PROGRAMS)/holdfast-sim" ]; then \
	  echo "install: Swift is not in PATH; run make portable first, as a user who has it" >&2; exit 1; \
	fi
	install -d "$(PLACE)/bin" "$(PLACE)/share/man/man1" "$(PLACE)/share/zsh/site-functions" \
	  "$(PLACE)/share/bash-completion/completions" "$(PLACE)/share/fish/vendor_completions.d"
	set -e; umask 022; for program in $(INSTALLED); do \
	  made="$(PLACE)/bin/$$program"; share="$(PLACE)/share"; \
	  install -m 755 "$(PROGRAMS)/$$program" "$$made"; \
	  "$$made" manual "$$share/man/man1"; \
	  "$$made" completions bash > "$$share/bash-completion/completions/$$program"; \
	  "$$made" completions zsh > "$$share/zsh/site-functions/_$$program"; \
	  "$$made" completions fish > "$$share/fish/vendor_completions.d/$$program.fish"; \
	done
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "add $(PREFIX)/bin to PATH" ;; esac

deb: portable ## makes a Debian package of the programs in .build
	packaging/debian/build

uninstall: ## removes the installed files below PREFIX
	for program in $(INSTALLED); do \
	  rm -f "$(PLACE)/bin/$$program" "$(PLACE)/share/man/man1/$$program.1" \
	    "$(PLACE)/share/man/man1/$$program"-*.1 \
	    "$(PLACE)/share/bash-completion/completions/$$program" \
	    "$(PLACE)/share/zsh/site-functions/_$$program" \
	    "$(PLACE)/share/fish/vendor_completions.d/$$program.fish"; \
	done

bare: ## runs the installed programs in a Debian without Swift, made by debootstrap; as root
	@SWIFT="$(SWIFT)" scripts/bare

SIMULATE = .build/release/holdfast-sim simulate

sim: $(PROGRAMS_STAMP) ## plays every deliberate defect and seeds of every world; SEEDS=A..B (1..2600)
	$(RELEASE) --product holdfast-sim
	$(SIMULATE) all --break all
	$(SIMULATE) all --preset all --seeds $(or $(SEEDS),1..2600) --html .build

nightly: setup ## runs all that takes longer, in parts of at most two hours; PART=sim for one
	@SWIFT="$(SWIFT)" scripts/nightly $(PART)

torture: $(PROGRAMS_STAMP) ## kills, freezes and fills disks of real processes; ROUNDS=N (60), SEED=N
	$(RELEASE) --product holdfast
	scripts/torture .build/release/holdfast --idle --rounds $(or $(ROUNDS),60) --seed $(or $(SEED),1)

peers: $(PROGRAMS_STAMP) ## runs peers that were written from the documents; SECONDS=N (120), SEED=N
	$(RELEASE) --product holdfast
	scripts/peer-runs .build/release/holdfast --seconds $(or $(SECONDS),120) --seed $(or $(SEED),1)

bluetooth: setup ## runs a bottle and a phone over the real bluetoothd, in a virtual machine
	$(SWIFT) build --product holdfast $(DEBUG)
	scripts/bluetooth

kills: build ## kills phone and backend of health sync KILLS times (500), and compares both at the end
	HOLDFAST_SYNC_KILLS=$(or $(KILLS),500) .build/debug/HoldfastPackageTests.xctest \
	  --testing-library swift-testing --filter '^ProgramTests\.LongSyncCrashTests'

mutants: setup ## counts the mutants caught; SAMPLE=N, EACH=N or ALL=1, SEED=N, SEEDS=N, MODULES=Core
	@SWIFT="$(SWIFT)" scripts/mutants $(if $(ALL),--all,--sample $(or $(SAMPLE),200)) \
	  $(EACH:%=--each %) --seed $(or $(SEED),1) $(SEEDS:%=--seeds %) $(MODULES:%=--modules %)

docs: setup ## builds the API reference of all products into .build/docs, and says how to open it
	@SWIFT="$(SWIFT)" scripts/docs

playground: setup ## builds the page on which policies are tried out with a fleet
	@scripts/playground

bench: setup ## measures in comparison with peers and limits, about 12 minutes; ONLY=ingest for one
	@SWIFT="$(SWIFT)" scripts/bench $(ONLY:%=--only %)

instructions: setup ## compares the instructions of one engine input with Benchmarks/instructions.txt
	@SWIFT="$(SWIFT)" scripts/instructions

bench-full: setup ## measures with more rounds and larger worlds
	@SWIFT="$(SWIFT)" scripts/bench --full $(ONLY:%=--only %)

conformance: setup ## runs heads, TLS refusals, Autobahn; QUICK=1 without slow cases, ONLY=tables
	$(RELEASE) --product HoldfastBench
	scripts/conformance

sanitize: setup ## runs the risky suites under the thread and the address sanitizer
	@SWIFT="$(SWIFT)" scripts/sanitize

fuzz: setup ## fuzzes every decoder, FUZZ_TIME seconds each (60)
	@SWIFT="$(SWIFT)" FUZZ_TIME="$(FUZZ_TIME)" scripts/fuzz

clean: ## removes all build products
	rm -rf --one-file-system .build .b-tsan .b-asan .b-fuzz
