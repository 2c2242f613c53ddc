SHELL    := /bin/bash
GO       ?= go
# The version of CHANGELOG.md and the commit: 1.0.0+3dfb9ef
VERSION  ?= $(shell sed -n 's/^## \([0-9][^ ]*\).*/\1/p' CHANGELOG.md | head -n 1)+$(shell git describe --always --dirty --exclude '*' 2>/dev/null || echo source)
GOLANGCI := v2.15.0
TOOLS    := $(CURDIR)/.tools
# Types of requests and answers, for the scripts of the pages (internal/web/calls.d.ts)
TYPES    := $(patsubst api/%.yaml,$(TOOLS)/types/%.d.ts,$(wildcard api/*.yaml))
export CGO_ENABLED ?= 0
# Where scripts/install-postgres.sh unpacks Postgres for a user who may not install packages
export PATH := $(PATH):$(TOOLS)/postgres/bin

.DEFAULT_GOAL := help
.PHONY: help run blackout dist-check demo demo-journeys film build consign-client generate test lint test-all bench mutate migrate
.PHONY: docs changelog pin release site release-key clean test-interoperability

help: ## list the targets
	@grep -hE '^[a-z%-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z%-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

run: postgres build ## serve on an embedded Postgres and the local disk, with a demo mailbox
	@CONSIGN_LOG_FORMAT=$${CONSIGN_LOG_FORMAT:-text} exec bin/consign serve --demo

demo: postgres build ## run the main job with curl, against a running server or one that it starts
	@test/demo.sh

demo-journeys: postgres build ## walk each journey in Chromium, with pictures in var/journeys
	@test/demo-journeys.sh

film: test-film ## make the film of at most 45 s: sent, cut, resumed, delivered, verified; in var/film (chromium, ffmpeg)

build: ## build bin/consign
	@$(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/consign ./cmd/consign

consign-client: ## build bin/consign-client, the commands for people without the server
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/consign-client ./cmd/consign-client

generate: ## generate the Go client from api/*.yaml
	@client/generate/generate.sh

# go vet is part of make lint: without it here, a first run takes a minute less.
test: postgres ## run all tests on a private Postgres; SLOWEST=20 lists the slowest
	@set -o pipefail; $(GO) test -vet=off -json -timeout 40m ./... | $(GO) run ./scripts/testlog -slowest $(or $(SLOWEST),0)

lint: $(TOOLS)/golangci-lint-$(GOLANGCI) $(TYPES) ## gofmt, go vet, golangci-lint, import law, types of the JavaScript (needs node)
	@test -z "$$(gofmt -l cmd client internal api migrations | tee -a /dev/stderr)"
	$(TOOLS)/golangci-lint-$(GOLANGCI) run ./...
	test/node_modules/.bin/tsc -p internal/web
	node test/retries.mjs
	@# Longer are only lines with a sentence or an address, which stays on one line.
	@! LC_ALL=C.UTF-8 grep -nE '^.{141,}' $$(git ls-files '*.js' '*.mjs' '*.ts' ':!*.d.ts' ':!*/thirdparty/*') | \
		grep -vE 'stroke-dasharray|["`>][^"`]{40,}["`<]' || { echo "lines have at most 140 columns" >&2; exit 1; }

test-all: ## everything: test, lint and each test-NAME below; once a commit, with a table of results (SUITES="test-race test-web")
	@scripts/testall.sh test lint $(suites) $(patsubst test/%.sh,test-%,$(filter-out $(not_in_all:%=test/%.sh),$(wildcard test/*.sh)))
not_in_all = lib demo-journeys teambeam tus-conformance

blackout: test-blackout ## cut the power of server, Postgres and disk CUTS (20) times (root, xfsprogs)

dist-check: test-dist ## install a release by name without a network, and run the documents' examples (root)

test-%: postgres build ## one of: race crash memory cluster web s3 redis oidc restore proxies … (rows below, scripts in test/)
	@[ -x test/$*.sh ] || { echo "there is no test/$*.sh and no row test-$* in the Makefile" >&2; exit 1; }
	@$(call counted,$*,test/$*.sh)

# $(call counted,NAME,COMMANDS) runs commands, then writes what they have counted into docs/trust.md if FIGURES=1 is set.
counted = export FIGURE=$$(mktemp) && trap 'rm -f "$$FIGURE"' EXIT && begin=$$(date +%s) && $(2) && scripts/figure.sh $(1) $$begin

# Suites that are one go command; the comment of each test says what it does. ARGS adds arguments. $(call needs,PROGRAM,PACKAGE) says that a program is missing.
campaign = $(GO) test -tags campaign -count=1 -v -timeout
needs = test/lib.sh need $(1) $(2) &&
test-race:      suite = $(call needs,$(CC),gcc) CGO_ENABLED=1 bash -o pipefail -c '$(GO) test -json -race -timeout 90m "$$@" ./... | $(GO) run ./scripts/testlog' race
test-encrypted: suite = CONSIGN_TEST_STORAGE_ENCRYPTION=on $(GO) test -timeout 40m ./internal/app ./internal/transfer/...
test-crash:     suite = $(campaign) 90m -run '^TestCrash(Parts|Concatenation|Inspections|Move)?$$' ./test/campaign
test-memory:    suite = $(campaign) 60m -run '^TestMemory$$' ./test/campaign
test-restarts:  suite = $(call needs,caddy,caddy) $(call needs,nginx,nginx-light) $(call needs,openssl,openssl) $(campaign) 20m -run '^TestRestartByDocuments$$' ./test/campaign
test-faults:    suite = $(campaign) 90m -run '$(or $(RUN),^TestFaults)' ./test/campaign
test-inbox:     suite = $(GO) test -tags million -count=1 -v -timeout 30m -run '^TestInboxOfAMillion$$' ./internal/transfer/service
test-timing:    suite = $(GO) test -tags timing -count=1 -v -run EqualCost ./internal/identity/handler
test-gettext:   suite = $(call needs,msgfmt,gettext) $(GO) test -tags gettext -count=1 -run '^TestMsgfmt$$' ./internal/i18n
test-systemd:   suite = $(GO) test -tags systemd -count=1 -run '^TestParseEnvFileAsSystemd$$' ./internal/config
test-alerts:    suite = $(call needs,promtool,prometheus) promtool check rules deploy/prometheus/alerts.yaml && promtool test rules test/alerts.yaml
test-redis:     suite = $(call needs,$(or $(TEST_REDIS_SERVER),redis-server),redis-server) $(GO) test -tags redis -count=1 -timeout 10m ./internal/ratelimit/redis ./test/redis
test-breakages: suite = $(call needs,promtool,prometheus) $(call needs,redis-server,redis-server) \
                        $(GO) test -tags breakages -count=1 -timeout 30m -v -run '^TestBreakages$$' ./internal/app
test-audit:     suite = $(call needs,rsyslogd,rsyslog-gnutls) $(GO) test -tags rsyslog -count=1 -v -run '^TestRsyslog$$' ./internal/audit/stream
test-holds:     suite = ROUNDS=$(or $(ROUNDS),200) $(GO) test -count=1 -timeout 30m -v -run '^TestHoldRaces$$' ./internal/app
test-growth:    suite = $(GO) run -tags growth ./test/growth
suites := test-race test-encrypted test-crash test-memory test-restarts test-faults test-inbox test-timing \
          test-gettext test-systemd test-alerts test-breakages test-audit test-redis test-holds test-growth
.PHONY: $(suites)
$(suites): postgres build
	@$(call counted,$(@:test-%=%),$(suite) $(ARGS))

# Programs of others, which docs/interoperability.md lists. GB, CUTS and KILLS make the run of the clients a short one.
test-interoperability:
	@for name in uploads targets generators oidc jose jed; do \
		echo "== $$name"; FIGURES=1 $(MAKE) --no-print-directory test-$$name || exit 1; done
	@GB=1 CUTS=3 KILLS=10 EVENTS=100 WEBHOOK_KILLS=3 FIGURES=1 $(MAKE) --no-print-directory test-clients

bench: postgres build ## compare with bare reference programs, about six minutes; BENCH="-row 'login|storm' -time 3s", BENCH=-help
	@exec $(GO) run -tags bench ./test/bench $(BENCH)

mutate: postgres ## change operators of PACKAGES and see whether tests fail (two hours; needs node)
	@scripts/mutate/mutate.sh

migrate: postgres build ## bring the database to this version (CONSIGN_DATABASE_URL, or the embedded one)
	@bin/consign migrate up

site: ## build the documents site and the logo's sizes, dist/site and dist/logo (needs node and rsvg-convert)
	@scripts/site/build.sh

release: ## make packages, images, SBOM, signed checksums and their log in dist/ (needs buildah)
	@scripts/release/release.sh

release-key: ## publish the key of releases, RELEASE_KEY=FILE
	@scripts/release/key.sh

changelog: ## move the files of changes/ into CHANGELOG.md, and its version into other files
	@scripts/release/changelog.sh

pin: ## pin the images of Dockerfile and compose.yaml by digest (needs docker buildx and the registries)
	@scripts/pin-images.sh

clean: ## remove build output, but not ./var, which holds data
	rm -rf bin dist .tools

postgres:
	@scripts/install-postgres.sh
.PHONY: postgres

$(TOOLS)/golangci-lint-$(GOLANGCI):
	@echo "building golangci-lint $(GOLANGCI) once (about two minutes)"
	@GOBIN=$(TOOLS) GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)
	@mv $(TOOLS)/golangci-lint $@

$(TOOLS)/types/%.d.ts: api/%.yaml test/package-lock.json | test/node_modules
	@test/node_modules/.bin/openapi-typescript $< -o $@ >/dev/null

test/node_modules: test/package-lock.json
	@. test/lib.sh && npm_ci test
