#!/bin/bash
# gofmt, go vet for each platform, staticcheck, govulncheck. The last two are
# installed on first use; where one cannot be had, that is said and not a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-go1.27.3}

staticcheck_version=latest
govulncheck_version=v1.9.0
tools=${GOSRT_TOOLS:-$(go env GOPATH)/bin}

# tool NAME PACKAGE@VERSION: path of the tool, installed when missing.
tool() {
	if [ ! -x "$tools/$1" ]; then
		GOBIN=$tools go install "$2" >&2 || return 1
	fi
	echo "$tools/$1"
}

echo "lint: gofmt"
unformatted=$(gofmt -l cmd internal policy proxy sandbox testdata)
if [ -n "$unformatted" ]; then
	printf 'lint: error: not gofmted:\n%s\n' "$unformatted" >&2
	exit 1
fi

for goos in linux darwin windows; do
	echo "lint: go vet for $goos"
	GOOS=$goos CGO_ENABLED=0 go vet ./...
done
echo "lint: go vet for linux/arm64"
GOARCH=arm64 CGO_ENABLED=0 go vet ./...

if staticcheck=$(tool staticcheck honnef.co/go/tools/cmd/staticcheck@$staticcheck_version); then
	echo "lint: staticcheck"
	"$staticcheck" ./...
else
	echo "lint: note: staticcheck could not be installed; not run"
fi

if ! govulncheck=$(tool govulncheck golang.org/x/vuln/cmd/govulncheck@$govulncheck_version); then
	echo "lint: note: govulncheck could not be installed; not run"
	exit 0
fi
echo "lint: govulncheck"
status=0
report=$("$govulncheck" ./... 2>&1) || status=$?
case "$status" in
0) echo "$report" | tail -n 3 ;;
3) # its own status for "vulnerabilities found"
	echo "$report" >&2
	exit 1 ;;
*) echo "lint: note: govulncheck could not reach its database; not run" ;;
esac
