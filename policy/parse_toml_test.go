package policy

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var ignorePlaces = cmp.Options{
	cmp.Comparer(func(a, b HostPattern) bool { return a == b }),
	cmp.Transformer("addr", func(e HostEntry) string { return fmt.Sprint(e.Name, e.Addrs) }),
	cmpopts.EquateEmpty(),
}

func parseTest(text string) (Policy, error) {
	return ParseTOML(Source{Layer: LayerFile, Name: "p.toml", Data: []byte(text), Base: "/work"}, testVars)
}

const fullTOML = `# every key
extends = ["builtin", "node"]
bwrap = "/opt/bwrap"

[filesystem]
denyRead = ["~/.ssh", "/srv/*.pem"] # two
allowRead = [
  "~/.ssh/known_hosts",
  '$DIR', # a variable
]
allowWrite = ["."]
denyWrite = ["./.git"]
tmp = "host"
absent = "cover"

[network]
allowedDomains = ["example.org:443", ".both.test"]
deniedDomains = ["bad.example.org"]
deniedDomainReasons = { "bad.example.org" = "it is bad" }
deniedResolvedAddresses = ["10.0.0.0/8", "::1"]
privateAddresses = "deny"
sni = "ignore"
transparent = false
upstream = "socks5://proxy.test:1080"
allowUnixSockets = ["/run/app.sock"]
hostPorts = [5432, "6379"]
publish = [8080, "8081:81", "auto"]
ask = true

[network.hosts]
"db.test" = ["10.0.0.1", "fd00::1"]
"one.test" = "127.0.0.1"

[env]
mode = "minimal"
pass = ["EDITOR"]
unset = ["FOO"]
set = { A = "1", B = "" }

[report]
reads = false
audit = "~/audit.log"

[darwin]
trustd = true
machLookup = ["com.example.*"]
`

func TestParseTOML(t *testing.T) {
	p, err := parseTest(fullTOML)
	if err != nil {
		t.Fatal(err)
	}
	line := func(rule PathRule) string { return fmt.Sprintf("%s %d", rule.Path, rule.Origin.Line) }
	got := []string{
		line(p.Filesystem.DenyRead[0]), line(p.Filesystem.DenyRead[1]),
		line(p.Filesystem.AllowRead[0]), line(p.Filesystem.AllowRead[1]),
		line(p.Filesystem.AllowWrite[0]), line(p.Filesystem.DenyWrite[0]), line(p.Network.UnixSockets[0]),
	}
	want := []string{
		"/home/u/.ssh 6", "/srv/*.pem 6", "/home/u/.ssh/known_hosts 8", "/srv/data 9", "/work 11", "/work/.git 12", "/run/app.sock 25",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if p.Filesystem.Tmp != TmpHost || p.Filesystem.Absent != AbsentCover || !p.Env.Minimal || !p.Network.PrivateDenied ||
		!p.Network.SNIIgnored || !p.Network.NoTransparent || !p.Network.Ask || !p.Darwin.Trustd {
		t.Errorf("a setting was lost: %+v", p)
	}
	if p.Bwrap != "/opt/bwrap" || p.Network.Upstream != "socks5://proxy.test:1080" || p.Report.Audit != "/home/u/audit.log" {
		t.Errorf("a text was lost: %q %q %q", p.Bwrap, p.Network.Upstream, p.Report.Audit)
	}
	if got := len(p.Network.Allowed); got != 3 { // .both.test is the name and all below it
		t.Errorf("%d allowed rules, want 3: %v", got, p.Network.Allowed)
	}
	if p.Network.Denied[0].Reason != "it is bad" {
		t.Errorf("reason lost: %+v", p.Network.Denied)
	}
	if fmt.Sprint(p.Network.HostPorts[0].Port, p.Network.HostPorts[1].Port, p.Network.Publish[1].Outside, p.Network.Publish[1].Inside, p.Network.Publish[2].Auto) != "5432 6379 8081 81 true" {
		t.Errorf("ports: %+v %+v", p.Network.HostPorts, p.Network.Publish)
	}
	if len(p.Layers) != 1 || len(p.Layers[0].Digest) != 64 {
		t.Errorf("layers: %+v", p.Layers)
	}
}

// A file that says nothing allows nothing.
func TestParseTOMLZero(t *testing.T) {
	for _, text := range []string{"", "# only this\n", "[filesystem]\n[network]\n", "[filesystem]\nallowWrite = []\n"} {
		p, err := parseTest(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Layers = nil
		if diff := cmp.Diff(Policy{}, p, ignorePlaces); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestParseTOMLErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"[filesystem]\ndenyRaed = []", `p.toml:2: unknown key "denyRaed" in [filesystem] (did you mean denyRead?)`},
		{"[filesystem]\n\ndenyread = []", `p.toml:3: unknown key "denyread" in [filesystem] (did you mean denyRead?)`},
		{"[filesystm]\n", `p.toml:1: unknown key "filesystm" at the top of the file (did you mean filesystem?)`},
		{"[Network]\n", `p.toml:1: unknown key "Network" at the top of the file (did you mean network?)`},
		{"denyRead = []", `(did you mean denyRead in [filesystem]?)`},
		{"[network]\nallow = []", `(did you mean allowedDomains?)`},
		{"[network]\nallowedDomains = []\n[NETWORK]\nallowedDomains = ['*']", `p.toml:3: unknown key "NETWORK"`},
		{"[network]\nallowedDomains = []\nAllowedDomains = ['*']", `p.toml:3: unknown key "AllowedDomains"`},
		{"[filesystem]\n\"deny\\u0052ead\" = []", `p.toml:2: a key is written plainly`},
		{"[filesystem]\n\"\" = []", `p.toml:2: unknown key ""`},
		{"\"\" = 1", `p.toml:1: unknown key ""`},
		{"[filesystem]\ndenyRead = 'x'", `p.toml:2: filesystem.denyRead: a string, where a list of strings belongs`},
		{"[filesystem]\ndenyRead = [1]", `p.toml:2: filesystem.denyRead: a number, where a string belongs`},
		{"[filesystem]\ndenyRead = [\n'a',\n'']", `p.toml:4: filesystem.denyRead: an empty entry`},
		{"[filesystem]\ndenyRead = [\n'a',\n#x\n'$NOPE/b']", `p.toml:5: filesystem.denyRead: "$NOPE/b": the variable NOPE is not set`},
		{"[filesystem]\ntmp = 'privat'", `"privat" is not one of private, host (did you mean private?)`},
		{"[filesystem]\ntmp = true", `p.toml:2: filesystem.tmp: a boolean, where a string belongs`},
		{"filesystem = 1", `p.toml:1: filesystem: a number, where a table belongs`},
		{"[[filesystem]]\ndenyRead=[]", `a list, where a table belongs`},
		{"[network]\nallowedDomains = ['http://x.test/']", `p.toml:2: network.allowedDomains: host pattern "http://x.test/": a host, not a URL; write "x.test"`},
		{"[network]\nallowedDomains = ['*.com']", `anybody can register`},
		{"[network]\nallowedDomains = ['a b.test']", `holds a space`},
		{"[network]\nallowedDomains = ['.']", `host pattern`},
		{"[network]\ndeniedDomains = ['user@x.test']", `holds user information`},
		{"[network]\ndeniedDomains = ['a.test']\ndeniedDomainReasons = {'b.test' = 'x'}", `p.toml:3: network.deniedDomainReasons: "b.test" is not an entry of deniedDomains (did you mean a.test?)`},
		{"[network]\ndeniedResolvedAddresses = ['x.test']", `an address or a range belongs here`},
		{"[network]\ndeniedResolvedAddresses = ['10.0.0.1:80']", `without a port`},
		{"[network]\ntransparent = 'no'", `true or false`},
		{"[network]\nupstream = 'socks4://x.test'", `http, https and socks5`},
		{"[network]\nupstream = 'proxy.test:3128'", `not "env" and not the URL`},
		{"[network]\nhostPorts = [0]", `port "0"`},
		{"[network]\nhostPorts = [70000]", `port "70000"`},
		{"[network]\nhostPorts = [1.5]", `not a number from 1 to 65535`},
		{"[network]\npublish = ['x']", `port "x"`},
		{"[network.hosts]\n'a.test' = 'b'", `"b" is not an IP address`},
		{"[network.hosts]\n'a.test' = []", `needs an address`},
		{"[network.hosts]\n'127.1' = '10.0.0.1'", `is an address`},
		{"[network.hosts]\n'a.test' = '10.0.0.1'\n'A.test' = '10.0.0.2'", `p.toml:3: network.hosts: "A.test" stands twice`},
		{"[env]\npass = ['A=B']", `not a variable's name`},
		{"[env.set]\n'A B' = 'x'", `not a variable's name`},
		{"[env.set]\nA = 1", `p.toml:2: env.set.A: a number`},
		{"[env.set]\nA = \"x\\u0000\"", `NUL`},
		{"extends = ['nod']", `p.toml:1: extends: no preset is called "nod" (did you mean node?)`},
		{"bwrap = 'bwrap'", `not an absolute path`},
		{"[report]\nreads = true", `p.toml:2: report.reads: refused reads cannot be asked for`},
		{"[report]\nreads = 'no'", `p.toml:2: report.reads: a string, where true or false belongs`},
		{"[report]\naudit = '*.log'", `a pattern, where one file belongs`},
		{"[darwin]\nmachLookup = ['a*b']", `only be the last character`},
		{"a = 2020-01-01", `unknown key "a"`},
		{"[filesystem]\ndenyRead = []\ndenyRead = []", `p.toml:3: `},
		{"[filesystem]\n[filesystem]", `p.toml:2: `},
		{"= 1", `p.toml:1: `},
		{"[filesystem\n", `p.toml:2: expected`},
		{"[filesystem]\ndenyRead = ['a'", `p.toml:`},
		{"[filesystem]\ndenyRead = [\"\xff\"]", `p.toml:2: `},
		{"a = " + strings.Repeat("[", 1000), `p.toml:1: nested too deeply`},
		{"[" + strings.Repeat("a.", 1000) + "a]", `p.toml:1: nested too deeply`},
		{strings.Repeat("#", maxPolicyBytes+1), `larger than 1 MiB`},
	} {
		p, err := parseTest(tt.text)
		if err == nil {
			t.Errorf("%.60q was accepted: %+v", tt.text, p)
			continue
		}
		var position *PositionError
		if !errors.As(err, &position) || position.File != "p.toml" {
			t.Errorf("%.60q: %v has no position", tt.text, err)
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.60q:\n got %v\nwant …%s…", tt.text, err, tt.want)
		}
		if strings.ContainsAny(err.Error(), "\n\r\x1b") {
			t.Errorf("%.60q: the error is not one printable line: %q", tt.text, err)
		}
	}
}

// The line of every key and entry, in all the ways TOML can write them.
func TestTOMLLines(t *testing.T) {
	text := "a = 1\n\"b c\" = [ 'x', # ]\n\n  \"y]\\\"\", '''\nz]\n''', [\n 1 ] ]\n[t . 'u']\nk = { i = 1,\n j = \"\"\"\n\"\"\"\"\" }\nv.w = 2\n[[l]]\nm = true\n"
	lines, _, err := indexTOML(text)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"a": 1, "b c": 2, itemPath("b c", 0): 2, itemPath("b c", 1): 4, itemPath("b c", 2): 4, itemPath("b c", 3): 6, itemPath(itemPath("b c", 3), 0): 7,
		keyPath("t", "u"): 8, keyPath("t", "u", "k"): 9, keyPath("t", "u", "k", "i"): 9, keyPath("t", "u", "k", "j"): 10,
		keyPath("t", "u", "v", "w"): 12, "l": 13, keyPath("l", "m"): 14,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

// Two faults in one file: which is reported must not depend on map order.
func TestParseTOMLDeterministic(t *testing.T) {
	text := "[network]\nzz = 1\naa = 1\n[filesystem]\nxx = 1\n[bogus]\n"
	_, first := parseTest(text)
	for range 100 {
		if _, err := parseTest(text); err.Error() != first.Error() {
			t.Fatalf("%v, and before it %v", err, first)
		}
	}
	if !strings.HasPrefix(first.Error(), "p.toml:2: ") {
		t.Errorf("not the first fault: %v", first)
	}
}
