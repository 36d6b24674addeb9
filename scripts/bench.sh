#!/bin/bash
# Usage: bench.sh GOSRT
# Pairs, in one run on one machine: bare bwrap with the same namespaces, gosrt,
# and srt from npm. Then proxied connections and streams against a relay that
# only copies. Prints medians; docs/performance.md says how to read them.
set -euo pipefail
gosrt=$(realpath "$1")
tree=$(realpath "$(dirname "$0")/..")
srt_version=0.0.83

work=$(mktemp -d /var/tmp/gosrt-bench.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/proj" "$work/home" "$work/npm"
export HOME=$work/home

echo "bench: installing srt $srt_version"
if (cd "$work/npm" && npm install --silent --no-fund --no-audit "@anthropic-ai/sandbox-runtime@$srt_version" >/dev/null 2>&1); then
	srt=$work/npm/node_modules/.bin/srt
else
	echo "bench: note: srt could not be installed; not measured"
	srt=
fi
cat >"$work/srt.json" <<'JSON'
{"network": {"allowedDomains": [], "deniedDomains": []},
 "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}
JSON

cd "$work/proj"
bare="bwrap --unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup --unshare-net --disable-userns --die-with-parent --ro-bind / / --bind $work/proj $work/proj --dev /dev --proc /proc -- true"

echo "bench: start of true"
pairs=(-n bwrap "$bare" -n gosrt "$gosrt -- true")
[ -z "$srt" ] || pairs+=(-n srt "$srt --settings $work/srt.json true")
hyperfine -N --warmup 3 --runs "${RUNS:-40}" --export-json "$work/start.json" "${pairs[@]}"
python3 - "$work/start.json" <<'PY'
import json, sys
m = {r["command"]: r["median"] * 1000 for r in json.load(open(sys.argv[1]))["results"]}
print("start, median ms:", ", ".join(f"{k} {v:.1f}" for k, v in m.items()))
print(f"gosrt / bwrap: {m['gosrt'] / m['bwrap']:.2f} (at most 2.5)")
if "srt" in m:
    print(f"srt / gosrt:   {m['srt'] / m['gosrt']:.1f} (at least 20)")
PY

echo "bench: start in a tree of 20000 files"
mkdir big
(cd big && for d in $(seq 200); do mkdir "$d" && (cd "$d" && touch $(seq 100)); done)
(cd big && hyperfine -N --warmup 2 --runs "${RUNS:-40}" --export-json "$work/big.json" -n gosrt "$gosrt -- true")

echo "bench: resident memory of gosrt at rest"
"$gosrt" -- sleep 2 &
sleep 1
awk '/VmRSS/ {printf "VmRSS %.1f MiB (at most 20)\n", $2 / 1024}' "/proc/$!/status"
wait

echo "bench: binary"
stat -c '%s bytes (at most 15 MB)' "$gosrt"

echo "bench: proxied connections and streams against a plain relay"
cd "$tree"
HOME=$(getent passwd "$(id -u)" | cut -d: -f6) go test ./cmd/gosrt -run '^$' -bench . -benchtime 2s
