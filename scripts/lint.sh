#!/bin/bash
# gofmt, go vet for each platform, staticcheck, govulncheck. The last two are
# installed on first use. Where one cannot be had that is said and not a failure,
# but for staticcheck under GOSRT_TEST_NEED=all. govulncheck also needs a database
# on the internet, which a closed build machine does not reach.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOTOOLCHAIN=${GOTOOLCHAIN:-go1.27.3}

staticcheck_version=v0.8.2
govulncheck_version=v1.9.0
tools=${XDG_CACHE_HOME:-$HOME/.cache}/gosrt-lint

# tool NAME PACKAGE VERSION: path of that version of the tool, installed when missing.
tool() {
	local dir=$tools/$1-$3
	if [ ! -x "$dir/$1" ]; then
		GOBIN=$dir go install "$2@$3" >&2 || return 1
	fi
	echo "$dir/$1"
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
for goos in linux darwin; do
	echo "lint: go vet for $goos/arm64"
	GOOS=$goos GOARCH=arm64 CGO_ENABLED=0 go vet ./...
done

if staticcheck=$(tool staticcheck honnef.co/go/tools/cmd/staticcheck $staticcheck_version); then
	echo "lint: staticcheck"
	"$staticcheck" ./...
	echo "lint: staticcheck for darwin"
	# Much of the pure code for one platform has no caller on another.
	GOOS=darwin CGO_ENABLED=0 "$staticcheck" -checks inherit,-U1000 ./...
elif [ "${GOSRT_TEST_NEED:-}" = all ]; then
	echo "lint: error: staticcheck could not be installed" >&2
	exit 1
else
	echo "lint: note: staticcheck could not be installed; not run"
fi

if ! govulncheck=$(tool govulncheck golang.org/x/vuln/cmd/govulncheck $govulncheck_version); then
	echo "lint: note: govulncheck could not be installed; not run"
	exit 0
fi
echo "lint: govulncheck"
status=0
report=$(timeout 180 "$govulncheck" ./... 2>&1) || status=$?
case "$status" in
0) echo "$report" | tail -n 3 ;;
3) # its own status for "vulnerabilities found"
	echo "$report" >&2
	exit 1 ;;
*) echo "lint: note: govulncheck could not reach its database; not run" ;;
esac
