# One command each: see README.md. `make help` lists the targets.

GO      ?= go
BUILD   := build
BIN     := $(BUILD)/streamsql
TAGS    := streamsqltest
PKGS    := ./...
# of one package's tests, on a slow machine
LIMIT   := 30m

.PHONY: help build demo demo-postgres test test-full race lint golden fuzz bench docs postgres pgbouncer clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the program into build/streamsql
	@mkdir -p $(BUILD)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(BIN) ./cmd/streamsql

demo: build ## run the main job on generated events and show its results change
	$(BIN) demo

demo-postgres: build postgres ## the same into a private PostgreSQL, started for the demo
	@$(GO) build -o $(BUILD)/demopg ./scripts/demopg
	$(BUILD)/demopg $(BIN)

postgres:
	@sh scripts/postgres.sh >/dev/null

pgbouncer:
	@sh scripts/pgbouncer.sh >/dev/null

test: postgres pgbouncer ## every test, with real PostgreSQL and NATS servers
	$(GO) test -timeout $(LIMIT) -tags $(TAGS) $(PKGS)

test-full: postgres ## the random tests, for an hour or so
	sh scripts/testfull.sh

race: postgres pgbouncer ## the tests under the race detector; those of tests/crash run another process
	$(GO) test -race -timeout $(LIMIT) -tags $(TAGS) $$($(GO) list $(PKGS) | grep -v /tests/crash)

lint: ## gofmt, go vet, staticcheck, the program for other systems
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet -tags $(TAGS) $(PKGS)
	$(GO) tool staticcheck -tags $(TAGS) $(PKGS)
	for os in darwin windows; do GOOS=$$os CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/streamsql || exit 1; done

golden: ## rewrite the expected parts of testdata; read the diff before committing
	$(GO) test ./parser ./planner ./operators -args -rewrite

fuzz: ## a minute of each fuzz target
	sh scripts/fuzz.sh

bench: build postgres ## the benchmarks, as ratios measured in one run
	sh scripts/bench.sh

docs: ## write the generated reference pages
	$(GO) run ./scripts/docs

clean:
	rm -rf $(BUILD)
