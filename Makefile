# The commands of the project. Only Go is needed; it fetches the rest.

GO ?= go
BIN := bin/triplane

.PHONY: run build sample-apiserver test envtest-assets envtest-suites published race fuzz soak bench microbench allocations lint fmt clean

run: build ## Serve with the embedded store; data goes to .triplane.
	$(BIN) $(ARGS)

# What the binary says of its source (--version, /version); by default what Git has.
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
DATE ?= $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)
STAMP := -X triplane/generic/server.commit=$(COMMIT) -X triplane/generic/server.date=$(DATE)

build: ## Build the binary.
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w $(STAMP)" -o $(BIN) ./cmd/triplane

sample-apiserver: ## Build the sample API server.
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w $(STAMP)" -o bin/sample-apiserver ./cmd/sample-apiserver

test: lint ## Run all tests.
	$(GO) test ./...

envtest-assets: build ## Lay out the programs of envtest in bin/envtest.
	$(BIN) envtest-assets bin/envtest

envtest-suites: ## Run controller-runtime's test suites against the server (some minutes).
	$(GO) test ./e2e/envtest -timeout 60m -v -args -all

published: ## Install the CRDs that projects publish (some minutes).
	$(GO) test ./e2e/published -timeout 30m -args -all

race: ## Run the tests of the packages with the race detector.
	$(GO) test -race ./aggregator/... ./apiextensions/... ./apiserver/... ./cmd/... ./console/... ./generic/... ./kubeapi/... ./testserver/...

FUZZTIME ?= 1m

fuzz: ## Run each fuzz target for FUZZTIME.
	@grep -rl --include='*_test.go' '^func Fuzz' aggregator apiextensions apiserver cmd console generic kubeapi | sort | while read -r file; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$$file"); do \
			echo "$$(dirname "$$file") $$target"; \
			$(GO) test "./$$(dirname "$$file")" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -parallel 1 || exit 1; \
		done; \
	done

SOAK ?= -for 90s

soak: ## Kill, cut off, starve and flood the server, each in turn for SOAK (half an hour in all by default); writes e2e/soak/RESULTS.md.
	$(GO) test ./e2e/soak -timeout 0 -count 1 -v -args $(SOAK) -report RESULTS.md

bench: build ## Measure the server beside others, into e2e/bench/RESULTS.md; BENCH takes flags of e2e/bench.
	$(GO) run ./e2e/bench -out e2e/bench/RESULTS.md $(BENCH)

microbench: ## Run the benchmarks of all packages.
	$(GO) test -run '^$$' -bench . -benchmem ./...

allocations: ## Compare what hot paths allocate with hack/allocations/limits.txt; ARGS=-update sets the limits.
	$(GO) run ./hack/allocations $(ARGS)

lint: ## Check formatting, vet, .golangci.yml, and which room imports which.
	@unformatted=$$(gofmt -l aggregator apiextensions apiserver cmd console e2e generic hack internal kubeapi testserver); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) tool -modfile=hack/lint/go.mod golangci-lint run --timeout 15m
	$(GO) test ./internal/imports

fmt: ## Format all files.
	gofmt -w aggregator apiextensions apiserver cmd console e2e generic hack internal kubeapi testserver

clean: ## Remove what was built.
	rm -rf bin
