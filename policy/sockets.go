package policy

import (
	"fmt"
	"strings"
)

// DecideSocket says whether the command may connect to a Unix socket of the
// host's. Path is canonical, every link followed: a rule opens exactly the
// socket it led to when the plan was made. A name that the command could give to
// another socket opens nothing. Sockets made inside are not asked about.
func (p *Plan) DecideSocket(path string) Decision {
	for i := range p.Sockets {
		r := &p.Sockets[i]
		at, ok := r.leadsTo(path)
		if !ok {
			continue
		}
		if p.DecideWrite(path).Verdict == Allow {
			return hit{r, at}.decide(Deny, "the command can write there, so it could put another socket under this name")
		}
		return hit{r, at}.decide(Allow, "opened for connecting")
	}
	return Decision{Reason: "no allowUnixSockets entry names it", Hint: "--allow-unix-socket " + quoteArg(path)}
}

func (r *FileRule) leadsTo(path string) (string, bool) {
	switch {
	case r.Pattern:
		at, ok := newGlob(r.Path).match(path)
		return at, ok
	case r.Dir:
		return r.Path, within(r.Path, path)
	}
	return r.Path, r.Path == path
}

// hostKeySockets are sockets whose servers do for a client what the user, or the
// administrator, could do outside.
var hostKeySockets = []struct{ part, what string }{
	{"docker.sock", "Docker starts containers with any mount"},
	{"containerd", "containerd starts containers with any mount"},
	{"podman", "Podman starts containers with any mount"},
	{"crio.sock", "CRI-O starts containers with any mount"},
	{"buildkit", "BuildKit reads any directory it is given"},
	{"libvirt", "libvirt starts machines with any disk"},
	{"lxd/unix.socket", "LXD starts containers with any mount"},
	{"incus/unix.socket", "Incus starts containers with any mount"},
	{"/systemd/", "systemd starts programs outside"},
	{"system_bus_socket", "services on the system bus start programs outside"},
	{"/bus", "services on the session bus start programs outside"},
	{"dbus", "services on the bus start programs outside"},
	{"X11-unix", "X11 lets a client type into every window"},
	{"snapd", "snapd installs software"},
	{"nix/daemon-socket", "the Nix daemon builds as another user"},
	{"tmux", "tmux runs commands in its sessions outside"},
}

// socketWeaknesses say it loud where an opened socket is a key to the host.
func socketWeaknesses(rules []FileRule) []Weakness {
	var found []Weakness
	for _, r := range rules {
		for _, key := range hostKeySockets {
			if strings.Contains(r.Path, key.part) || strings.Contains(r.Rule.Text, key.part) {
				found = append(found, Weakness{ID: "host-key-socket", Text: fmt.Sprintf(
					"%q is a key to this host: %s, so the sandbox holds no longer than the command wants", r.Path, key.what)})
				break
			}
		}
	}
	return found
}
