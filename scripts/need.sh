#!/bin/bash
# Usage: need.sh COMMAND...
# Installs the Debian or Ubuntu package of each command that is missing.
set -euo pipefail

package_of() {
	case "$1" in
	bwrap) echo bubblewrap ;;
	dig) echo bind9-dnsutils ;;
	node) echo nodejs ;;
	rg) echo ripgrep ;;
	ssh) echo openssh-client ;;
	sshd) echo openssh-server ;;
	unshare) echo util-linux ;;
	script) echo bsdutils ;;
	ip) echo iproute2 ;;
	pgrep) echo procps ;;
	*) echo "$1" ;;
	esac
}

# sshd and ip live where an ordinary user's PATH does not look.
PATH="$PATH:/usr/sbin:/sbin"

packages=()
for command in "$@"; do
	command -v "$command" >/dev/null || packages+=("$(package_of "$command")")
done
[ "${#packages[@]}" -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "need: install these first: ${packages[*]}" >&2
	exit 1
fi
root=()
[ "$(id -u)" -eq 0 ] || root=(sudo)
echo "need: installing ${packages[*]}"
"${root[@]}" apt-get -qq update >/dev/null
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${packages[@]}" >/dev/null
