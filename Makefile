# The commands of the project. Only Go is needed; it fetches the rest.

GO ?= go
BIN := bin/triplane

# The rooms of the server, their packages with the one of the module's root, and all that has Go files.
SERVER := aggregator apiextensions apiserver cmd console generic internal kubeapi testserver workspaces
PACKAGES := . $(addprefix ./,$(addsuffix /...,$(SERVER)))
SOURCES := $(wildcard *.go) $(SERVER) e2e hack

# What differs in these is compiled again, with all of etcd and k8s.io: every target uses the same ones, and so do
# .ci/run and e2e/parity.sh (make goflags). The race detector needs cgo. Traces of gRPC would link templates. Tables for
# debuggers are a tenth of what a compiler does, and no program that make builds has them. So is a compiler's garbage
# collection with the usual GOGC, which the tests have.
export CGO_ENABLED ?= 0
export GOFLAGS += -trimpath -buildvcs=false -tags=grpcnotrace -gcflags=all=-dwarf=false '-toolexec=env GOGC=800'

.PHONY: run build platforms release rename-module sample-apiserver programs goflags test test-others test-former test-outside envtest-assets envtest-suites published race fuzz soak bench microbench allocations lint release-diff fmt clean

# say prints a phase, and how long make has run.
BEGAN := $(shell date +%s)
say = @s=$$(( $$(date +%s) - $(BEGAN) )); printf '== %2d:%02d %s\n' $$((s / 60)) $$((s % 60)) "$(1)"

run: build ## Serve with the embedded store; data goes to .triplane.
	$(BIN) $(ARGS)

# What the binary says of its source (--version, /version); by default what Git has.
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
DATE ?= $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)
STAMP := -X triplane.dev/generic/serve/server.commit=$(COMMIT) -X triplane.dev/generic/serve/server.date=$(DATE)

build: ## Build the binary.
	$(call say,build $(BIN))
	@$(GO) build -ldflags "-s -w $(STAMP)" -o $(BIN) ./cmd/triplane

# The systems and processors that the binary and the libraries are for (docs/platforms.md).
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

platforms: ## Build and vet the binary and the libraries for each of PLATFORMS (minutes for each at first).
	@for platform in $(PLATFORMS); do \
		echo "== $$platform"; \
		export CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/}; \
		$(GO) build ./cmd/triplane ./testserver ./apiserver && \
		$(GO) vet ./cmd/triplane ./testserver ./apiserver ./internal/platform ./internal/resident || exit 1; \
	done

release: ## Write the archives, SBOMs, image, checksums and notes of VERSION into dist; ARGS has flags of hack/release.
	@test -n "$(VERSION)" || { echo "make release needs VERSION=v0.5.0"; exit 1; }
	$(call say,release $(VERSION))
	@cd hack/release && GOFLAGS= $(GO) run . -version $(VERSION) -out $(CURDIR)/dist $(ARGS)
	$(call say,dist has the release)

# Imports begin with the module's path, and so do the names that the linker sets.
rename-module: ## Move the module to the path TO, in all files that Git has.
	@test -n "$(TO)" || { echo "make rename-module needs TO=example.com/triplane"; exit 1; }
	@git grep -lzF triplane.dev | xargs -0 sed -i.renamed 's#triplane\.dev#$(TO)#g' && find . -name '*.renamed' -delete

sample-apiserver: ## Build the sample API server.
	$(GO) build -ldflags "-s -w $(STAMP)" -o bin/sample-apiserver ./cmd/sample-apiserver

programs: ## Build the programs that the end-to-end tests run, into e2e/.bin.
	$(call say,build the programs of the end-to-end tests)
	@$(GO) run ./e2e/programs/build

# The tests of test-others alone.
OTHERS := triplane.dev/e2e/deploy triplane.dev/e2e/kine
# They take longest, so they are the first of e2e.
LONGEST := triplane.dev/e2e/soak triplane.dev/e2e/attacks
# Compiles the program of the former release: make test-former. Without the history of Git it is skipped, which -v prints.
FORMER := triplane.dev/e2e/former
# Compiles a module outside, with all that it imports: make test-outside.
OUTSIDE := triplane.dev/e2e/outside

# go vet is part of lint. One package more than processors runs at a time, since tests of the whole program wait
# often; they are last, because some measure latencies, which compilers beside them disturb. The time limit is for the
# tests alone: all that they run is built before. Without symbols the tests are linked in a tenth less time.
test: programs ## Run all tests but test-others.
	$(call say,test)
	@E2E_PROGRAMS=built $(GO) test -vet=off -ldflags '-s -w' -p $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )) -timeout 15m \
		$(PACKAGES) ./hack/... $(LONGEST) $$($(GO) list ./e2e/... | grep -vxF $(addprefix -e ,$(OTHERS) $(FORMER) $(OUTSIDE)))
	$(call say,all tests have passed)

test-others: programs ## Run the tests that compile much that no other does: Helm, kine, releases, sample-apiserver, controller-runtime.
	$(call say,build Helm and kine and the sample API server of Kubernetes)
	@$(GO) run ./e2e/programs/build helm kine promql sample-apiserver
	$(call say,test with them)
	@E2E_PROGRAMS=built $(GO) test -vet=off -timeout 10m $(OTHERS)
	@E2E_PROGRAMS=built $(GO) test -vet=off -timeout 10m ./e2e/extensions -args -upstream
	$(call say,test the release)
	@GOFLAGS= $(GO) test -C hack/release -timeout 30m .
	$(call say,test with the newest controller-runtime)
	@E2E_PROGRAMS=built $(GO) test -vet=off ./e2e/envtest -timeout 30m -args -newest
	$(call say,the other tests have passed)

test-former: programs ## Exchange stores with the program of the former release (minutes).
	@E2E_PROGRAMS=built $(GO) test -vet=off -v -timeout 30m $(FORMER)

test-outside: ## Follow the README's ways and the pages' code in a directory outside (minutes).
	$(GO) test -vet=off -timeout 30m $(OUTSIDE)

goflags: ## Print the flags of the go command that all targets use.
	@echo "$(GOFLAGS)"

envtest-assets: build ## Lay out the programs of envtest in bin/envtest.
	$(BIN) envtest-assets bin/envtest

envtest-suites: ## Run the test suites of controller-runtime, cluster-api, jobset and lws against the server (many minutes).
	$(GO) test ./e2e/envtest -timeout 60m -v -args -all

published: ## Install the CRDs that projects publish (some minutes).
	$(GO) test ./e2e/published -timeout 30m -args -all

race: ## Run the tests of the packages with the race detector.
	CGO_ENABLED=1 $(GO) test -race $(PACKAGES)

FUZZTIME ?= 1m

fuzz: ## Run each fuzz target for FUZZTIME.
	@grep -rl --include='*_test.go' '^func Fuzz' $(wildcard *.go) $(SERVER) | sort | while read -r file; do \
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

lint: ## Check formatting, and the source with hack/lint, which has go vet and staticcheck; which room imports which.
	$(call say,check the source)
	@unformatted=$$(gofmt -l $(SOURCES)); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	@$(GO) build -C hack/lint -o $(CURDIR)/bin/lint .
	@bin/lint ./...
	@$(GO) test -vet=off ./internal/imports

# The releases of the public modules that release-diff compares; ARGS has further flags of hack/releasediff.
FROM ?= v0.36.2
TO ?= v0.37.2

release-diff: ## Print what differs between two releases of Kubernetes, FROM and TO, and what of it the project lacks.
	@$(GO) run ./hack/releasediff -from $(FROM) -to $(TO) $(ARGS)

fmt: ## Format all files.
	gofmt -w $(SOURCES)

clean: ## Remove what was built.
	rm -rf bin dist
