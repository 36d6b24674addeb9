package darwin

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/gosrt/gosrt/policy"
)

// TestOnlyTheProxiesAreReachable: whatever the policy's network rules are, the
// command reaches TCP on the loopback interface at the proxies', the named host
// ports and its own published ones, and nothing else; it takes no proxy's port.
func TestOnlyTheProxiesAreReachable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		port := rapid.Uint16Range(1, 40)
		p := &policy.Plan{HTTPPort: port.Draw(t, "http"), SOCKSPort: port.Draw(t, "socks")}
		open := map[int]bool{int(p.HTTPPort): true, int(p.SOCKSPort): true}
		served := map[int]bool{}
		for _, n := range rapid.SliceOfN(port, 0, 2).Draw(t, "host ports") {
			p.Network.HostPorts = append(p.Network.HostPorts, policy.PortRule{Port: n})
			open[int(n)] = true
		}
		for _, n := range rapid.SliceOfN(port, 0, 2).Draw(t, "published") {
			p.Network.Publish = append(p.Network.Publish, policy.PublishRule{Inside: n, Outside: n + 100})
			open[int(n)], served[int(n)] = true, true
		}
		auto := rapid.Bool().Draw(t, "auto")
		if auto {
			p.Network.Publish = append(p.Network.Publish, policy.PublishRule{Auto: true})
		}
		r, err := Profile(p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		profile, err := compileSBPL(r.Text, 15)
		if err != nil {
			t.Fatalf("%v\n%s", err, r.Text)
		}
		m := newMac()
		m.profile = profile
		for n := 1; n <= 41; n++ {
			m.listening[n] = true
			isProxy := n == int(p.HTTPPort) || n == int(p.SOCKSPort)
			for call, want := range map[string]bool{
				"tcp 127.0.0.1":        open[n],
				"tcp ::1":              open[n],
				"tcp 192.0.2.1":        false,
				"tcp ::ffff:127.0.0.1": false,
				"udp 127.0.0.1":        false,
				"udp 192.0.2.1":        false,
				"listen 127.0.0.1":     (auto || served[n]) && !isProxy,
				"listen 0.0.0.0":       false,
			} {
				if got := m.run(call+" "+strconv.Itoa(n)) == ok; got != want {
					t.Fatalf("%s %d: %v\n%s", call, n, got, r.Text)
				}
			}
		}
		if m.run("unix /private/var/run/mDNSResponder") == ok {
			t.Fatal("the resolver is reachable: names could leave")
		}
	})
}

// TestSockets: allowed sockets by file, directory and pattern, each with the
// neighbour that stays closed; and no way to bring another one to where the
// command may connect.
func TestSockets(t *testing.T) {
	plan := Prepare(services(), Run{TmpDir: "/private/tmp/t"})
	m, err := machineFor(t, render(t, plan).Text, 15)
	if err != nil {
		t.Fatal(err)
	}
	m.mkdirAll("/private/tmp/t")
	for _, s := range []string{"/private/var/run/docker.sock", "/private/var/run/other.sock", home + "/agents/ssh", home + "/agents2/ssh",
		home + "/run/a.sock", home + "/run/a.sock2", home + "/run/sub/a.sock", proj + "/host.sock"} {
		m.add(s, &vnode{kind: "SOCKET"})
	}
	m.add(proj+"/link", &vnode{kind: "SYMLINK", target: "/private/var/run/docker.sock"})
	for call, want := range map[string]string{
		"unix /var/run/docker.sock":                         ok,
		"unix " + proj + "/link":                            ok,
		"unix /private/var/run/other.sock":                  eperm,
		"unix " + home + "/agents/ssh":                      ok,
		"unix " + home + "/agents2/ssh":                     eperm,
		"unix " + home + "/run/a.sock":                      ok,
		"unix " + home + "/run/a.sock2":                     eperm,
		"unix " + home + "/run/sub/a.sock":                  eperm,
		"unix " + proj + "/host.sock":                       eperm,
		"listenunix /tmp/t/own":                             ok,
		"listenunix " + proj + "/own":                       eperm,
		"listenunix " + home + "/agents/own":                eperm,
		"rename " + proj + "/host.sock /private/tmp/t/h":    eperm,
		"link " + proj + "/host.sock /private/tmp/t/h":      eperm,
		"link /private/var/run/other.sock /private/tmp/t/h": eperm,
		"remove " + proj + "/host.sock":                     eperm,
	} {
		if got := m.run(call); got != want {
			t.Errorf("%s: %q, want %q", call, got, want)
		}
	}
	if got := m.run("unix /private/tmp/t/own"); got != ok {
		t.Errorf("the command's own socket: %q", got)
	}
}

// TestServices: each switch opens what it names, and is closed without it.
func TestServices(t *testing.T) {
	for name, tt := range map[string]struct {
		on      policy.Darwin
		request request
	}{
		"trustd":         {policy.Darwin{Trustd: true}, request{op: "mach-lookup", name: "com.apple.trustd.agent"}},
		"appleEvents":    {policy.Darwin{AppleEvents: true}, request{op: "appleevent-send"}},
		"keychain":       {policy.Darwin{Keychain: true}, request{op: "mach-lookup", name: "com.apple.SecurityServer"}},
		"launchServices": {policy.Darwin{LaunchServices: true}, request{op: "lsopen"}},
		"pty":            {policy.Darwin{Pty: true}, request{op: "pseudo-tty"}},
		"machLookup":     {policy.Darwin{MachLookup: []string{"com.x.y"}}, request{op: "mach-lookup", name: "com.x.y"}},
		"prefix":         {policy.Darwin{MachLookup: []string{"com.x.*"}}, request{op: "mach-lookup", name: "com.x.z"}},
		"noise opened":   {policy.Darwin{MachLookup: []string{"com.apple.diagnosticd"}}, request{op: "mach-lookup", name: "com.apple.diagnosticd"}},
	} {
		for _, d := range []policy.Darwin{tt.on, {}} {
			profile, err := compileSBPL(render(t, &policy.Plan{Darwin: d}).Text, 15)
			if err != nil {
				t.Fatal(err)
			}
			on := d.Trustd || d.AppleEvents || d.Keychain || d.LaunchServices || d.Pty || d.MachLookup != nil
			if got := profile.decide(tt.request).allow; got != on {
				t.Errorf("%s with %+v: allowed %v", name, d, got)
			}
		}
	}
	profile, err := compileSBPL(render(t, &policy.Plan{}).Text, 15)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []request{
		{op: "mach-lookup", name: "com.apple.pasteboard.1"}, {op: "mach-register", name: "x"}, {op: "iokit-open"},
		{op: "sysctl-read", name: "kern.procargs2"}, {op: "sysctl-write", name: "kern.hostname"},
		{op: "signal", target: "others"}, {op: "process-info*", target: "others"}, {op: "file-mount", path: "/x"},
		{op: "file-mknod", path: proj + "/x"}, {op: "file-issue-extension", path: proj + "/x"},
		{op: "system-socket", domain: "AF_UNIX"}, {op: "system-socket", domain: "AF_INET"},
		{op: "file-write-data", path: "/dev/disk0", vnode: "BLOCK-DEVICE"}, {op: "file-read-data", path: "/dev/ttys009", vnode: "CHARACTER-DEVICE"},
	} {
		if a := profile.decide(q); a.allow {
			t.Errorf("the zero plan allows %+v", q)
		}
	}
}
