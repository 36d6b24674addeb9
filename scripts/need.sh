#!/bin/bash
# Usage: need.sh COMMAND...
# Installs the Debian or Ubuntu package of each command that is missing; py:NAME
# is a module of the system's Python.
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
	java) echo default-jdk-headless ;;
	psql) echo postgresql ;;
	py:pip) echo python3-pip ;;
	py:*) echo "python3-${1#py:}" ;;
	pgrep) echo procps ;;
	*) echo "$1" ;;
	esac
}

# sshd and ip live where an ordinary user's PATH does not look.
PATH="$PATH:/usr/sbin:/sbin"

there() {
	case "$1" in
	py:*) /usr/bin/python3 -c "import ${1#py:}" 2>/dev/null ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

packages=()
for command in "$@"; do
	there "$command" || packages+=("$(package_of "$command")")
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
