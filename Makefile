# Bellwether needs only Go. With Node.js, its tests also run Azurite, the emulator of Azure
# Storage, and with Chromium they show the page in it. lint runs its tools at fixed
# versions, without entries in go.mod.

GO          ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
# Without ST1005: the error of a Config begins with the field's name, a capital letter.
CHECKS      := -checks inherit,-ST1005
GOFUMPT     := mvdan.cc/gofumpt@v0.12.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

# Empty without cgo, which the race detector needs.
RACE = $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)

# A program with the race detector would sleep for a second before it exits: each of the
# test binaries, and each of the hundreds of commands that tests run.
export GORACE ?= atexit_sleep_ms=0

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## build bin/bellwether
	$(GO) build $(STAMP) -o bin/bellwether ./cmd/bellwether

# Benchmarked programs contain their commit, whatever GOFLAGS says.
bench bench-peers: STAMP = -buildvcs=auto

.PHONY: demo
demo: build ## a job on 4 worker processes, with the leader killed half-way, gives the same bytes (STORAGE=azure: on Azurite)
	bin/bellwether demo$(if $(STORAGE), --storage $(STORAGE))

.PHONY: azurite
azurite: ## run Azurite, the emulator of Azure Storage, until Ctrl-C
	$(GO) run ./deploy/local/azurite/run

# Packages whose code starts no goroutine, which TestSinglePackages checks: the state machines, the
# simulator, which runs coroutines, jobs/wasm, the numeric jobs, the readers of Avro and Parquet, exact
# sums and portable functions. The race detector has nothing to find there, and would make their tests five to fifteen
# times as slow.
SINGLE := coordinator/ledger coordinator/term election/machine worker/session bench/internal/sim jobs/wasm \
	jobs/primes jobs/montecarlo jobs/glm jobs/kmeans jobs/dataset/avro jobs/dataset/exact \
	jobs/dataset/parquet jobs/fuzztest jobs/internal/portable jobs/internal/sketch

# Packages in which some files of tests are built only without the race detector. It would make tests of large or
# many inputs ten times as slow, and fails in large simulations of time. make test-large runs the tests in these files.
LARGE := jobs/dataset jobs/dataset/source jobs/scan

# Packages whose tests mainly wait for hundreds of processes. make race tests them with the race
# detector, and so does 'make test PROCESSES='. The race detector also runs in the processes of
# bench/internal/chaos.
PROCESSES := cmd/cli bench/internal/hostile

# The package whose tests take longest, which therefore begins first.
LONGEST := worker

# The tests with and without the race detector run at the same time, because most tests wait for
# processes and timers. Calls in tests have time limits, so such tests should not wait for a core:
# everything is compiled before the tests start, and the linker and tests that only compute have a
# lower priority. go vet is the task of lint. Test binaries without debug information and symbols
# link faster.
TEST    = $(GO) test -vet=off -ldflags=-s -toolexec nice -timeout 30m
COMPILE = $(GO) list -test -export -toolexec nice -f '{{.Export}}'

# One package more than there are cores.
PARALLEL = $$(($$(getconf _NPROCESSORS_ONLN) + 1))

.PHONY: test
test: ## all tests, most of them with the race detector
ifeq ($(RACE),)
	@echo "The race detector needs a C compiler: testing without it." >&2
endif
	@$(COMPILE) $(addprefix ./,$(PROCESSES) $(SINGLE) $(LARGE)) >/dev/null && $(COMPILE) $(RACE) ./... >/dev/null
	@$(MAKE) --no-print-directory -k -j test-processes test-race test-single test-large

.PHONY: test-processes
test-processes:
	@$(if $(PROCESSES),$(TEST) -p 1 $(addprefix ./,$(PROCESSES)))

.PHONY: test-single
test-single:
	@nice $(TEST) -p 1 $(addprefix ./,$(SINGLE))

.PHONY: test-large
test-large:
	@tests=$$(grep -l '^//go:build !race' $(addsuffix /*_test.go,$(LARGE)) | xargs sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' | paste -sd '|'); \
	[ -n "$$tests" ] || { echo "no test of $(LARGE) is for builds without the race detector" >&2; exit 1; }; \
	nice $(TEST) -p 1 -run "^($$tests)$$" $(addprefix ./,$(LARGE))

.PHONY: test-race
test-race:
	@$(TEST) $(RACE) -p $(PARALLEL) ./$(LONGEST) $$($(GO) list ./... | grep -vxF "$$(printf '%s\n' $(PROCESSES) $(SINGLE) | sed "s|^|$$($(GO) list -m)/|")")

.PHONY: race
race: ## the tests that start many processes, with the race detector
	$(TEST) $(RACE) -p 1 $(addprefix ./,$(PROCESSES))

.PHONY: test-arm64
test-arm64: ## the tests that need no browser for linux/arm64, in qemu-user, in half an hour (.ci/arm64 PACKAGES runs some)
	.ci/arm64

.PHONY: model
model: ## the model of the takeover, with and without defects (needs spin and a C compiler)
	MODEL=1 $(GO) test -count=1 -run '^TestTakeoverModel' ./election

SEEDS ?= 10000

.PHONY: sim
sim: ## simulate SEEDS clusters (10000), then find planted defects (SEED=4711 only traces one, RECORD=1 records the seeds that find defects, DEFECTS=2/3 finds the second third)
	$(GO) test -count=1 -v -timeout 0 -run '^TestSeedsKeepThePromises$$' ./bench/internal/sim -args -sim.seeds=$(SEEDS) $(if $(SEED),-sim.seed=$(SEED))
ifndef SEED
	DEFECTS=$(or $(DEFECTS),1/1) $(GO) test -count=1 -timeout 30m -run '^TestDefectsAreCaught$$' ./bench/internal/sim$(if $(RECORD), -v -args -sim.record)
endif

.PHONY: chaos
chaos: ## real processes under faults drawn from a seed (MINUTES=10 SEED=7 STORAGE=azure, or damaged)
	$(GO) test $(RACE) -count=1 -v -timeout 0 -run '^(TestChaos|TestDamagedFiles)$$/^$(or $(STORAGE),jetstream)$$' ./bench/internal/chaos \
		-args -chaos.minutes=$(or $(MINUTES),10) -chaos.seed=$(or $(SEED),0)

.PHONY: hostile
hostile: ## jobs whose functions crash, hang and lie, in 20 minutes a storage (STORAGE=azure CASE=open_exit)
	$(GO) test -count=1 -v -timeout 0 -run '^TestHostile$$/^$(or $(STORAGE),jetstream)_/$(CASE)' ./bench/internal/hostile -args -hostile.all

FUZZTIME = 10s

.PHONY: upgrade-check
upgrade-check: ## replace the workers of an earlier version while jobs run, and change back (builds it; STORAGE=azure: only on Azurite)
	UPGRADE=true $(GO) test -count=1 -v -timeout 30m -run '^TestUpgrade$$/^$(STORAGE)' ./bench/internal/upgrade

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s); failing inputs are kept in testdata/fuzz
	@grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' . | sort | while IFS=: read -r file target; do \
		echo "$$(dirname $$file) $${target#func }"; \
		$(GO) test -run '^$$' -fuzz "^$${target#func }\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s "$$(dirname $$file)" </dev/null || exit 1; \
	done

.PHONY: lint
lint: ## gofumpt, go vet and staticcheck
	@unformatted=$$($(GO) run $(GOFUMPT) -l .); \
	if [ -n "$$unformatted" ]; then echo "not formatted (run gofumpt -w):"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) $(CHECKS) ./...

# Fails if code is called that has a known vulnerability, but not if the database cannot be reached.
.PHONY: vuln
vuln: ## govulncheck, if its database at vuln.go.dev can be reached
	@out=$$($(GO) run $(GOVULNCHECK) ./... 2>&1); status=$$?; echo "$$out"; \
	case "$$out" in *"govulncheck: fetching vulnerabilities: "*) \
		echo "The database of vulnerabilities cannot be reached: nothing was checked." >&2; exit 0;; \
	esac; exit $$status

# Without -count=1, results are cached although the tested files, outside of the module, have changed.
.PHONY: deploy-check
deploy-check: ## test the files in deploy without a container engine or Kubernetes (a separate module; NO_RELEASE=true builds no release)
	cd deploy/check && $(GO) vet ./... && $(GO) run $(STATICCHECK) $(CHECKS) ./... && $(GO) test -count=1 -timeout 15m $(if $(NO_RELEASE),-skip '^TestRelease$$') ./...

.PHONY: container-check
container-check: ## run compose.yaml in containers and break it; starts an engine where none runs
	deploy/check/containers/check

.PHONY: kube-check
kube-check: ## run the chart on Kubernetes with KEDA and break it; the first run builds Kubernetes, in half an hour
	deploy/check/kubernetes/check

.PHONY: bench
bench: build ## renew bench/RESULTS.md except the sections of other systems, in an hour on an idle machine (SECTIONS="overhead scale")
	bench/results/renew $(SECTIONS)

.PHONY: bench-peers
bench-peers: build ## renew the sections of other systems, in more than an hour (SECTIONS="peers-scan"), or run with flags (PEERS="-help"); installs what is missing
	bench/peers/install
	cd bench/peers && $(GO) build -o ../../bin/peers .
ifndef PEERS
	bench/results/renew $(or $(SECTIONS),peers)
else
	bin/peers -bellwether bin/bellwether $(PEERS)
endif

.PHONY: bench-peers-check
bench-peers-check: ## lint and quick tests of bench/peers (a separate module); needs no servers
	cd bench/peers && $(GO) vet ./... && $(GO) run $(STATICCHECK) $(CHECKS) ./... && $(GO) test -short ./...

.PHONY: release
release: ## build the files of a release in bin/release: programs, bills of materials, chart, image, checksums (PLATFORMS="linux/arm64")
	deploy/release/build $(PLATFORMS)

.PHONY: clean
clean: ## remove built files
	rm -rf bin
