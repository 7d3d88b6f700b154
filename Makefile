# The front door. Each target installs what it needs by itself, once, into a cache folder (see integration-tests/parts/with).
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help deps build quick demo local test lint unit hostile journeys upgrade cluster conformance node node-down docs image package screenshots soak fuzz bench bench-compare audit

with  := integration-tests/parts/with
cargo := cargo --locked
release := $(or $(CARGO_TARGET_DIR),target)/release
parts := haproxy cluster definitions helm helm-4 image jinja2 kubectl wrk
quick   := $(or $(CARGO_TARGET_DIR),target)/demo
# All tests are built as one workspace: packages built alone get other features, and all their dependencies are compiled anew.
# Journeys run the dev profile for the same reason.

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS=$$'\t' read -r name text; do printf '  make %-13s %s\n' "$$name" "$$text"; done

deps: ## fetch and build the real parts (HAProxy 3.0, 3.2, 3.4, etcd, kube-apiserver, helm, kubectl, the image's files), once
	@$(with) $(parts)
	$(cargo) fetch

# One call, or what the demo and the benchmark add would give haptic other features, and all dependencies be compiled twice.
build: ## the release binary, target/release/haptic, with the demo and the benchmark
	@$(cargo) build --release -p haptic -p integration-tests --bin haptic --bin demo --bin bench --bin bench-compare --bin data-plane-api-double

# Optimised as little as a first look needs: the release takes three times as long to build.
quick:
	@[ -x "$(quick)/demo" ] || echo "== compiling haptic and the demo: about three minutes on two cores, once"
	$(cargo) build --profile demo -p haptic -p integration-tests --bin haptic --bin demo

demo: quick ## a short tour on this terminal, without a cluster; ends by itself
	@$(with) haproxy-3.4 -- $(quick)/demo

local: quick ## the demo, left running: edit its manifests and watch
	@$(with) haproxy-3.4 -- $(quick)/demo --stay

# The parts come while the compiler works: they wait for the network, and for one processor at a time, half of their time.
test: ## lint, unit tests, the hostile suite, journeys
	@trap 'kill $$(jobs -p) 2>/dev/null || true' EXIT
	$(with) $(parts) &
	$(MAKE) --no-print-directory lint unit hostile journeys

lint: ## formatting, clippy, the invariants of the code and its dependencies
	@echo "== formatting"
	cargo fmt --all --check
	@echo "== clippy"
	$(cargo) clippy -q --workspace --all-targets -- -D warnings
	# No plain `cargo test` runs them, so they are in no `--all-targets`.
	$(cargo) clippy -q --workspace --test journeys --test hostile --test cluster -- -D warnings
	@echo "== invariants"
	$(cargo) test -q --workspace --test invariants

audit: ## known vulnerabilities of the dependencies; needs cargo-deny and GitHub
	@command -v cargo-deny >/dev/null || { echo "make audit needs cargo-deny: cargo install --locked cargo-deny" >&2; exit 1; }
	cargo deny --locked check

# Most tests wait for a HAProxy most of the time: three times as many as there are processors run at a time.
# No example in the documentation runs (an invariant): to find that out, rustdoc would read every crate.
unit: ## the tests of each crate, with real HAProxys
	@echo "== unit tests"
	$(cargo) build --workspace --bins --tests
	RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$((3 * $$(nproc)))} $(with) haproxy cluster definitions helm helm-4 image jinja2 -- $(cargo) test --workspace --tests --no-fail-fast

hostile: ## the worst objects beside innocent tenants on a running HAProxy; ONLY=words runs those whose names contain one
	@echo "== hostile objects"
	$(cargo) build --workspace --bins --tests
	$(with) haproxy -- $(cargo) test --workspace --test hostile -- $(ONLY)

journeys: ## whole stories against a real API server and HAProxy; ONLY=name runs those whose name contains it, TIMES=200 each so often
	@echo "== journeys"
	$(cargo) build --workspace --bins --tests
	$(with) haproxy cluster definitions helm helm-4 kubectl wrk -- $(cargo) test --workspace --test journeys -- $(ONLY)

# Another tree is built, in minutes. So this is no part of `make test`.
earlier = target/upgrade/$(shell git rev-parse --verify --quiet --short=12 "$(FROM)^{commit}")
define build_earlier
	@[ -n "$(notdir $(earlier))" ] || { echo "FROM=REV must name a commit to upgrade from, and '$(FROM)' is none" >&2; exit 2; }
	[ -e "$(earlier)/Makefile" ] || { git worktree prune; git worktree add --quiet --detach "$(earlier)" "$(FROM)"; }
	echo "== building $(FROM) in $(earlier)"
	(cd "$(earlier)" && CARGO_TARGET_DIR=$(CURDIR)/$(earlier)/target $(cargo) build -p haptic --bin haptic)
endef

upgrade: ## controllers and agents of this tree beside those of FROM=REV, and after each other, in both orders
	$(build_earlier)
	$(cargo) build --workspace --bins --tests
	HAPTIC_TEST_OLD=$(CURDIR)/$(earlier)/target/debug/haptic $(with) haproxy cluster -- $(cargo) test --workspace --test journeys -- upgrade

# Root: namespaces, mounts, control groups. Forty minutes of building the first time. So it is no part of `make test`.
cluster: build ## stories under traffic in a real Kubernetes node of their own; needs root; ONLY=words runs those whose names contain one; ROUTES=gateway has HTTPRoutes instead of Ingresses; ONLY=longevity MINUTES=60; ONLY=image compiles it in the Dockerfile, with buildah; FROM=REV upgrades from that commit, too
	$(if $(FROM),$(build_earlier))
	@$(cargo) build --workspace --test cluster
	MINUTES=$(MINUTES) SEED=$(SEED) HAPTIC_CLUSTER_ROUTES=$(ROUTES) HAPTIC_CLUSTER_FROM=$(and $(FROM),$(CURDIR)/$(earlier)) HAPTIC_BIN=$(abspath $(release)/haptic) $(with) node cluster definitions helm helm-4 image kubectl -- $(cargo) test -q --workspace --test cluster -- $(ONLY)

conformance: quick ## the Gateway API's conformance suite on such a node; needs root; ONLY=HTTPRouteWeight runs one test, CHANNELS=standard those of one channel, RUNS=2 all twice, with the same results, KEEP=1 leaves the node
	@failed=
	for channel in $(or $(CHANNELS),standard experimental); do
	  RUNS=$(or $(RUNS),1) $(with) node conformance cluster helm image kubectl -- integration-tests/conformance/run target/conformance $(quick)/haptic $$channel $(ONLY) || failed=1
	done
	[ -z "$$failed" ]

node: quick ## a real Kubernetes node with the image of this tree, left running, to try HAPTIC in; needs root
	@mkdir -p target/node
	$(with) node cluster image kubectl -- integration-tests/node/image target/node/haptic.tar $(quick)/haptic
	$(with) node cluster image kubectl -- integration-tests/node/up target/node target/node/haptic.tar

node-down: ## ends the node of `make node`
	@integration-tests/node/down target/node

docs: ## the reference in docs/reference, from the program and its libraries
	@$(cargo) build --workspace --bins
	HAPTIC_WRITE_DOCS=1 $(cargo) test -q --workspace --test documentation pages_are_those

image: ## the container image, with docker, podman or buildah; IMAGE=registry.example.com/haptic
	@release/image

package: ## the chart as target/package/haptic-VERSION.tgz; with IMAGE and DIGEST=sha256:… for that very image
	@$(with) helm -- release/package target/package

screenshots: ## the page at /debug, light and dark, in target/screenshots
	@$(cargo) build --workspace --bins --tests
	HAPTIC_SCREENSHOTS=$(CURDIR)/target/screenshots $(with) haproxy-3.4 cluster chromium -- $(cargo) test --workspace --test journeys -- screenshots

soak: build ## long runs: random changes on real HAProxys (CASES=5000, SEED=n to repeat), hostile objects (OBJECTS=10000), leaders killed, MINUTES=20 of storm and load
	@echo "== soak: random changes"
	$(cargo) build --workspace --bins --tests
	seed=$${SEED:-$$((RANDOM * 1000))}; echo "SEED=$$seed"
	HAPTIC_CASES=$(or $(CASES),5000) HAPTIC_SEED=$$seed $(with) haproxy -- $(cargo) test --workspace --test properties -- --nocapture
	echo "== soak: hostile objects"
	HAPTIC_SOAK=1 HAPTIC_SEED=$$seed HAPTIC_OBJECTS=$(or $(OBJECTS),10000) HAPTIC_BIN=$(abspath $(release)/haptic) $(with) haproxy -- $(cargo) test --workspace --test hostile -- $(ONLY)
	echo "== soak: several replicas"
	HAPTIC_SOAK=1 $(with) haproxy cluster wrk -- $(cargo) test --workspace --test journeys -- $(or $(ONLY),leader_)
	echo "== soak: storm and load"
	$(with) haproxy cluster wrk -- $(release)/bench --only soak --minutes $(or $(MINUTES),20)

# No sanitizer: there is no `unsafe` to be found out.
fuzz: ## random bytes for MINUTES=10 for each target of integration-tests/fuzz; ONLY=settle for one of them
	@integration-tests/fuzz/run "$(or $(MINUTES),10)" $(ONLY)

bench: build ## a table of figures, and the same in target/bench/latest.json; ARGS=--help tells what it can leave out
	@$(with) haproxy cluster definitions wrk -- $(release)/bench $(ARGS)

# The other tree is a worktree of its own, built once into its own target directory.
bench-compare: ## this tree's figures against those of BASE=REV, run alternately ROUNDS=5 times; more than 1.1 times worse is an error; ARGS as for bench
	@rev=$$(git rev-parse --verify --quiet --short=12 "$(BASE)^{commit}") || { echo "make bench-compare needs BASE=REV, a commit to compare with" >&2; exit 2; }
	$(MAKE) --no-print-directory build
	base=$(CURDIR)/target/bench/$$rev
	[ -e "$$base/Makefile" ] || { git worktree prune; git worktree add --quiet --detach "$$base" "$$rev"; }
	echo "== building $$rev in $$base"
	(cd "$$base" && CARGO_TARGET_DIR=$$base/target $(cargo) build --release -p haptic -p integration-tests --bin haptic --bin demo --bin bench --bin data-plane-api-double)
	$(with) haproxy cluster definitions wrk -- $(release)/bench-compare --rounds $(or $(ROUNDS),5) "$$base" "$$base/target/release/bench" -- $(ARGS)
