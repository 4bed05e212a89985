# sheetclaim

SHELL       = /bin/bash
.SHELLFLAGS = -o pipefail -c

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  = -s -w -X main.version=$(VERSION)
TOOL     = $(GO) tool -modfile=tools.mod
GOLANGCI_VERSION = v2.15.0
GOLANGCI = .tools/golangci-lint-$(GOLANGCI_VERSION)
SBOM_VERSION = v1.10.0
SBOM     = .tools/cyclonedx-gomod-$(SBOM_VERSION)
FUZZTIME ?= 10s

.PHONY: help
help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: demo
demo: ## three runs at once on a sample sheet, in one process
	$(GO) run ./cmd/sheetclaim demo

.PHONY: build
build: ## build ./sheetclaim
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o sheetclaim ./cmd/sheetclaim

.PHONY: test
test: ## all tests
	$(GO) test -timeout 25m -parallel 8 ./...

.PHONY: race
race: ## the tests under the race detector, without browsers, Node and the longest runs, and with fewer seeds
	$(GO) build -race ./...
	@# Those of cmd are real processes that mostly wait, by real clocks; the others compute.
	SHEETCLAIM_SEEDS=6 nice $(GO) test -race -timeout 25m -parallel 8 -skip 'HasTeeth|OnPostgres|LG08|OP06|OP07' $$($(GO) list ./... | grep -v /cmd/) & \
	$(GO) test -race -timeout 25m -parallel 6 -skip 'Browser|AppsScript|Failover' ./cmd/...; cmd=$$?; wait $$! && exit $$cmd

.PHONY: rounds
rounds: ## the overlap tests, many rounds of real processes
	SHEETCLAIM_ROUNDS=20 $(GO) test -count=1 -run 'Processes' -v ./cmd/sheetclaim

N ?= 300
.PHONY: simulate
simulate: ## N seeds of the simulation (300)
	SHEETCLAIM_SEEDS=$(N) $(GO) test -count=1 -timeout 60m -run 'TestSimulation$$' -v ./internal/claim | grep -vE '^ *(=== |--- PASS)'

.PHONY: simulate-postgres
simulate-postgres: ## N seeds of the simulation (300) with ledgers in Postgres
	SHEETCLAIM_SEEDS=$(N) $(GO) test -count=1 -timeout 60m -run 'TestSimulationOnPostgres$$' -v ./internal/claim | grep -vE '^ *(=== |--- PASS)'

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (10s)
	scripts/fuzz $(FUZZTIME)

.PHONY: lint
lint: $(GOLANGCI) ## formatting, vet, linters, import rules, dead code
	@test -z "$$($(TOOL) gofumpt -l cmd api internal)" || { $(TOOL) gofumpt -l cmd api internal; echo "run: make fmt"; exit 1; }
	$(GO) vet ./...
	$(GO) fix -diff ./...
	$(TOOL) staticcheck ./...
	$(GOLANGCI) run --allow-parallel-runners
	@out="$$($(TOOL) deadcode -test ./...)"; test -z "$$out" || { echo "$$out"; exit 1; }

.PHONY: fmt
fmt: ## format
	$(TOOL) gofumpt -w cmd api internal

$(GOLANGCI):
	GOBIN=$(CURDIR)/.tools $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv .tools/golangci-lint $@

CROSS ?= linux/amd64 linux/arm64 darwin/arm64 windows/amd64
.PHONY: cross
cross: ## build for linux, darwin and windows
	@for target in $(CROSS); do \
	  echo "$$target"; CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build -trimpath -o /dev/null ./cmd/sheetclaim || exit 1; \
	done

TARGETS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
.PHONY: dist
dist: $(SBOM) ## release archives of TARGETS in dist/, with checksums and bills of materials
	scripts/dist '$(VERSION)' $(SBOM) $(TARGETS)

$(SBOM):
	GOBIN=$(CURDIR)/.tools $(GO) install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(SBOM_VERSION)
	mv .tools/cyclonedx-gomod $@

.PHONY: bench
bench: ## benchmarks, and the key ledger beside the script that it is measured against
	$(GO) test -run '^$$' -bench . ./...
	SHEETCLAIM_BENCH=1 $(GO) test -count=1 -run 'TestKeyRates' -v ./cmd/sheetclaim | grep -vE '^(===|---) '

.PHONY: origins
origins: ## the tests of the guides that the key ledger comes from, in full
	SHEETCLAIM_ORIGINS=1 $(GO) test -count=1 -run 'TestLG01|TestOrigins' -v ./cmd/sheetclaim | grep -vE '^=== '

KEYS ?= 10000000
.PHONY: scale
scale: ## KEYS keys (10000000) in the key ledger, on SQLite and Postgres: size, claims, prune; needs 15 GB and half an hour
	SHEETCLAIM_KEYS=$(KEYS) $(GO) test -count=1 -timeout 2h -run 'TestManyKeys' -v ./cmd/sheetclaim | grep -vE '^(===|---) '

.PHONY: vuln
vuln: ## known vulnerabilities; needs the database of the Go project, so it is no gate
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...
