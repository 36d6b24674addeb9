# make demo and make test are all the set-up a fresh Debian or Ubuntu machine
# with Go needs: they install what they use, with sudo when not root.

# Go 1.26.8's net/http has an open fault that a CONNECT proxy meets
# (GO-2026-6613); docs/dependencies.md says more.
export GOTOOLCHAIN := go1.27.3

GO       ?= go
LDFLAGS  := -s -w
TESTARGS ?=
PACKAGES ?= ./...
# What tests start, beside the Go toolchain.
TESTTOOLS := bwrap bash curl dig gcc git ip node npm openssl pgrep psql \
	py:pip py:requests py:websockets python3 redis-server rsync script ssh sshd tar unshare wget

.PHONY: build demo needs test test-long bench lint man clean

build: bin/gosrt

# Always asked of the go command, which knows better than make what is stale.
.PHONY: bin/gosrt
bin/gosrt:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "$(LDFLAGS)" -o $@ ./cmd/gosrt

demo:
	scripts/need.sh bwrap
	$(MAKE) --no-print-directory build
	scripts/demo.sh bin/gosrt

needs:
	scripts/need.sh $(TESTTOOLS)

test: needs
	$(GO) test -timeout 15m $(TESTARGS) $(PACKAGES)

# The same tests with more random cases and rounds.
test-long: needs
	scripts/need.sh $(TESTTOOLS) chromium java
	GOSRT_TEST_LONG=1 $(GO) test -timeout 60m $(TESTARGS) $(PACKAGES)

bench:
	scripts/need.sh bwrap hyperfine npm socat rg
	$(MAKE) --no-print-directory build
	scripts/bench.sh bin/gosrt

lint:
	scripts/lint.sh

# Rewrites docs/gosrt.1 and the help in README.md from the command line itself.
man:
	$(GO) test ./cmd/gosrt -run TestDocs -update

clean:
	rm -rf bin
