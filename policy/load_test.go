package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func source(name, text string) *Source {
	return &Source{Name: name, Data: []byte(text), Base: "/work"}
}

func testInput() Input { return Input{Vars: testVars, Cwd: "/work"} }

func mustLoad(t *testing.T, in Input) Policy {
	t.Helper()
	p, err := Load(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// written lists the paths that did not come from the built-in default.
func written(rules []PathRule) []string {
	var paths []string
	for _, rule := range rules {
		if rule.Origin.Layer != LayerBuiltin {
			paths = append(paths, rule.Path)
		}
	}
	return paths
}

func TestLoadDefault(t *testing.T) {
	p := mustLoad(t, testInput())
	if diff := cmp.Diff([]string{"/work"}, pathsOf(p.Filesystem.AllowWrite)); diff != "" {
		t.Errorf("write roots: %s", diff)
	}
	if !slices.Contains(pathsOf(p.Filesystem.DenyRead), "/home/u/.ssh") {
		t.Error("~/.ssh is not hidden")
	}
	if len(p.Network.Allowed) > 0 || p.Network.Ask || p.Filesystem.Tmp != TmpPrivate {
		t.Errorf("the default opens more than it says: %+v", p.Network)
	}
}

func pathsOf(rules []PathRule) []string {
	var paths []string
	for _, rule := range rules {
		paths = append(paths, rule.Path)
	}
	return paths
}

func TestLoadListsAddUp(t *testing.T) {
	in := testInput()
	in.User = source("user", "[filesystem]\nallowWrite = ['/user']\ntmp = 'host'\n[network]\nallowedDomains = ['user.test']")
	in.Project = source("project", "[filesystem]\nallowWrite = ['/project']\ndenyRead = ['/user/x']")
	in.ProjectTrusted = true
	in.File = source("file", "[filesystem]\nallowWrite = ['/file']\ntmp = 'private'")
	in.More = []Source{*source("more", "[filesystem]\nallowWrite = ['/more']")}
	in.Flags = Flags{AllowWrite: []string{"/flag"}, DenyDomain: []string{"user.test"}, Tmp: "host"}
	p := mustLoad(t, in)
	if diff := cmp.Diff([]string{"/user", "/project", "/file", "/more", "/flag"}, written(p.Filesystem.AllowWrite)); diff != "" {
		t.Error(diff)
	}
	if p.Filesystem.Tmp != TmpHost {
		t.Error("the strongest layer's tmp does not count")
	}
	if len(p.Network.Allowed) != 1 || len(p.Network.Denied) != 1 || len(p.Untrusted) > 0 {
		t.Errorf("network %+v, untrusted %v", p.Network, p.Untrusted)
	}
	var names []string
	for _, layer := range p.Layers {
		names = append(names, layer.String())
	}
	want := []string{"built-in default", "user file user", "project file project", "policy file file", "policy file more", "flags command line"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// A value that a stronger layer does not mention is not reset by it.
func TestLoadSilenceKeepsSettings(t *testing.T) {
	in := testInput()
	in.User = source("user", "[env]\nmode = 'minimal'\n[network]\nprivateAddresses = 'deny'\nsni = 'ignore'")
	in.File = source("file", "[network]\nsni = 'match'")
	p := mustLoad(t, in)
	if !p.Env.Minimal || !p.Network.PrivateDenied || p.Network.SNIIgnored {
		t.Errorf("%+v %+v", p.Env, p.Network)
	}
}

func TestLoadExtends(t *testing.T) {
	for _, tt := range []struct {
		name, user    string
		flags         []string
		builtin, node bool
	}{
		{"unsaid", "", nil, true, false},
		{"empty list drops the default", "extends = []", nil, false, false},
		{"builtin and a preset", "extends = ['builtin', 'node']", nil, true, true},
		{"a preset alone keeps the default", "extends = ['node']", nil, true, true},
		{"flag", "", []string{"node"}, true, true},
		{"flag after an empty list", "extends = []", []string{"node"}, false, true},
		{"a preset named twice counts once", "extends = ['node']", []string{"node"}, true, true},
	} {
		in := testInput()
		in.User = source("user", tt.user)
		in.Flags.Preset = tt.flags
		p := mustLoad(t, in)
		if got := len(p.Filesystem.DenyRead) > 0; got != tt.builtin {
			t.Errorf("%s: built-in default %t", tt.name, got)
		}
		if got := len(p.Network.Allowed); (got == 4) != tt.node {
			t.Errorf("%s: %d allowed hosts", tt.name, got)
		}
	}
}

const widening = `extends = []
bwrap = "/work/bwrap"
[filesystem]
allowRead = ["~/.ssh"]
allowWrite = ["~"]
tmp = "host"
absent = "cover"
writeImpliesRead = true
[network]
allowedDomains = [".evil.test"]
sni = "ignore"
upstream = "http://evil.test:1"
allowUnixSockets = ["/run/docker.sock"]
hostPorts = [5432]
publish = ["auto"]
ask = true
[network.hosts]
"a.test" = "10.0.0.1"
[env]
pass = ["LD_PRELOAD"]
set = { LD_PRELOAD = "x" }
[report]
audit = "/work/log"
[darwin]
trustd = true
appleEvents = true
keychain = true
launchServices = true
pty = true
machLookup = ["*"]
`

// Every grant of an untrusted project is listed and none is applied.
func TestLoadUntrustedOnlyTightens(t *testing.T) {
	plain := mustLoad(t, testInput())
	for _, where := range []string{"project", "checkout"} {
		in := testInput()
		src := source(".gosrt.toml", widening)
		if where == "project" {
			in.Project = src
		} else {
			in.Checkout = src
		}
		p := mustLoad(t, in)
		untrusted := p.Untrusted
		p.Untrusted, p.Layers, plain.Layers = nil, nil, nil
		if diff := cmp.Diff(plain, p, ignorePlaces); diff != "" {
			t.Errorf("%s: an untrusted file changed the policy: %s", where, diff)
		}
		for _, key := range []string{
			"extends", "bwrap", "allowRead", "allowWrite", "filesystem.tmp", "filesystem.absent", "filesystem.writeImpliesRead",
			"allowedDomains", "network.sni", "network.upstream", "allowUnixSockets", "hostPorts", "publish", "network.ask", "hosts",
			"env.pass", "env.set", "report.audit", "darwin.trustd", "darwin.appleEvents", "darwin.keychain", "darwin.launchServices",
			"darwin.pty", "machLookup",
		} {
			count := 0
			for _, line := range untrusted {
				if strings.HasPrefix(line, key+" ") && strings.Contains(line, ".gosrt.toml") {
					count++
				}
			}
			if count != 1 {
				t.Errorf("%s: %s is listed %d times in %v", where, key, count, untrusted)
			}
		}
		if len(untrusted) != 24 {
			t.Errorf("%s: %d grants listed, want 24: %v", where, len(untrusted), untrusted)
		}
	}
}

// The twin: trusted, the same file is applied.
func TestLoadTrustedWidens(t *testing.T) {
	in := testInput()
	in.Project, in.ProjectTrusted = source(".gosrt.toml", widening), true
	p := mustLoad(t, in)
	if len(p.Untrusted) > 0 || len(p.Filesystem.DenyRead) > 0 || p.Bwrap != "/work/bwrap" || len(p.Network.Allowed) != 2 || !p.Filesystem.WriteImpliesRead {
		t.Errorf("%+v", p)
	}
}

// Every key that a file may hold is either a grant that the tests above know of
// or a denial here: a new key must be put on one side.
func TestEveryKeyIsOnOneSide(t *testing.T) {
	tightening := []string{
		"filesystem.denyRead", "filesystem.denyWrite", "network.deniedDomains", "network.deniedDomainReasons",
		"network.deniedResolvedAddresses", "network.privateAddresses", "network.transparent", "env.mode", "env.unset", "report.reads",
	}
	for _, row := range tomlKeys {
		dotted := strings.TrimPrefix(row.section+"."+row.key, ".")
		grants := strings.Contains(widening, "\n"+row.key+" = ") || strings.HasPrefix(widening, row.key) || strings.Contains(widening, "["+dotted+"]")
		if grants == slices.Contains(tightening, dotted) {
			t.Errorf("%s: grant %t", dotted, grants)
		}
	}
}

func TestLoadUntrustedTightens(t *testing.T) {
	in := testInput()
	in.User = source("user", "[filesystem]\ntmp = 'host'\n[network]\nsni = 'ignore'")
	in.Project = source(".gosrt.toml", `extends = ["builtin"]
[filesystem]
denyRead = ["secret"]
denyWrite = ["keep"]
tmp = "private"
[network]
deniedDomains = ["a.test"]
deniedResolvedAddresses = ["10.0.0.0/8"]
privateAddresses = "deny"
sni = "match"
transparent = false
ask = false
[env]
mode = "minimal"
unset = ["FOO"]
[report]
reads = false
`)
	p := mustLoad(t, in)
	if len(p.Untrusted) > 0 {
		t.Errorf("listed as grants: %v", p.Untrusted)
	}
	if !slices.Contains(pathsOf(p.Filesystem.DenyRead), "/work/secret") || !slices.Contains(pathsOf(p.Filesystem.DenyWrite), "/work/keep") ||
		p.Filesystem.Tmp != TmpPrivate || len(p.Network.Denied) != 1 || len(p.Network.DeniedAddresses) != 1 || !p.Network.PrivateDenied ||
		p.Network.SNIIgnored || !p.Network.NoTransparent || !p.Env.Minimal || len(p.Env.Unset) != 1 {
		t.Errorf("a denial was lost: %+v", p)
	}
}

func TestUntrustedIsPrintable(t *testing.T) {
	in := testInput()
	in.Project = source(".gosrt.toml", "[filesystem]\nallowWrite = [\"a\\u001b(2Jb\\nc\\u202e\"]\n")
	for _, line := range mustLoad(t, in).Untrusted {
		if strings.ContainsAny(line, "\x1b\n\u202e") {
			t.Errorf("not printable: %q", line)
		}
	}
}

func TestLoadManaged(t *testing.T) {
	in := testInput()
	in.Managed = source("/etc/gosrt/policy.toml", `[filesystem]
denyRead = ["/srv/payroll"]
tmp = "private"
[network]
deniedDomains = ["evil.test"]
privateAddresses = "deny"
sni = "match"
[env]
unset = ["CI"]
`)
	in.User = source("user", "[filesystem]\ntmp = 'host'\n[network]\nsni = 'ignore'\nprivateAddresses = 'allow'\n[env]\npass = ['CI']\nset = {CI = '1'}")
	in.Flags = Flags{Tmp: "host", Env: []string{"CI=1", "OTHER=1"}}
	p := mustLoad(t, in)
	rule := p.Filesystem.DenyRead[len(p.Filesystem.DenyRead)-1]
	if rule.Path != "/srv/payroll" || rule.Origin.Layer != LayerManaged || p.Network.Denied[0].Origin.Layer != LayerManaged {
		t.Errorf("rule %+v, hosts %+v", rule, p.Network.Denied)
	}
	if p.Filesystem.Tmp != TmpPrivate || p.Network.SNIIgnored || !p.Network.PrivateDenied {
		t.Errorf("a weaker layer won: %+v %+v", p.Filesystem.Tmp, p.Network)
	}
	env, _ := Environ(p, Host{Env: []string{"CI=host"}}, ProxyEnv{})
	if diff := cmp.Diff([]string{"OTHER=1"}, env); diff != "" {
		t.Error(diff)
	}
}

func TestLoadManagedGrantsAreErrors(t *testing.T) {
	for _, line := range []string{
		"extends = []", "extends = ['node']", "bwrap = '/x'", "[filesystem]\nallowWrite = ['/x']", "[filesystem]\nallowRead = ['/x']",
		"[network]\nallowedDomains = ['a.test']", "[network]\nask = true", "[network]\nupstream = 'env'", "[network]\nsni = 'ignore'",
		"[network.hosts]\n'a.test' = '10.0.0.1'", "[env]\npass = ['A']", "[env]\nset = {A = '1'}", "[darwin]\npty = true", "[filesystem]\ntmp = 'host'",
	} {
		in := testInput()
		in.Managed = source("managed.toml", line)
		p, err := Load(in)
		if err == nil || !strings.HasPrefix(err.Error(), "managed.toml") || !strings.Contains(err.Error(), "only tightens") {
			t.Errorf("%q: %v, %+v", line, err, p.Layers)
		}
	}
}

// srt's settings say everything that is allowed: the current directory is not
// writable beside them, and what is hidden stays hidden.
func TestLoadSettings(t *testing.T) {
	in := testInput()
	in.Settings = source("s.json", withSettings("", "", ""))
	p := mustLoad(t, in)
	if len(p.Filesystem.AllowWrite) > 0 || len(p.Network.Allowed) > 0 || len(p.Filesystem.DenyRead) == 0 || !p.Filesystem.WriteImpliesRead {
		t.Errorf("%+v", p.Filesystem.AllowWrite)
	}
	in.Settings, in.More = nil, []Source{{Layer: LayerSettings, Name: "s.json", Data: []byte(withSettings("", "", ""))}}
	if p := mustLoad(t, in); len(p.Filesystem.AllowWrite) > 0 {
		t.Errorf("as a further file: %+v", p.Filesystem.AllowWrite)
	}
}

// Where a file was found decides what it may, not what the caller wrote into it.
func TestLoadSetsTheLayer(t *testing.T) {
	in := testInput()
	in.Project = source(".gosrt.toml", "[filesystem]\ndenyRead = ['x']")
	in.Project.Layer = LayerManaged
	p := mustLoad(t, in)
	if got := p.Filesystem.DenyRead[len(p.Filesystem.DenyRead)-1].Origin.Layer; got != LayerProject {
		t.Errorf("layer %d", got)
	}
}

func TestFlags(t *testing.T) {
	in := testInput()
	in.Flags = Flags{
		AllowRead: []string{"r"}, DenyRead: []string{"~/d"}, AllowWrite: []string{"w,with,commas"}, DenyWrite: []string{"/n"},
		AllowDomain: []string{"a.test"}, DenyDomain: []string{"b.test"}, Env: []string{"A", "B=c=d"}, AllowUnixSocket: []string{"/s"},
		HostPort: []string{"5432"}, Publish: []string{"80:8080"}, Resolve: []string{"N.test=10.0.0.1,::1"}, Upstream: "env",
		NoTransparent: true, Ask: true,
	}
	p := mustLoad(t, in)
	if diff := cmp.Diff([]string{"/work", "/work/w,with,commas"}, pathsOf(p.Filesystem.AllowWrite)); diff != "" {
		t.Error(diff)
	}
	if got := p.Filesystem.AllowRead[0]; got.Path != "/work/r" || got.Origin != (Origin{Layer: LayerFlag, Name: "--allow-read"}) {
		t.Errorf("%+v", got)
	}
	if p.Env.Pass[0].Name != "A" || p.Env.Set[0].Value != "c=d" || p.Network.Hosts[0].Name != "n.test" || len(p.Network.Hosts[0].Addrs) != 2 ||
		p.Network.Upstream != "env" || !p.Network.NoTransparent || !p.Network.Ask || p.Network.HostPorts[0].Port != 5432 || p.Network.Publish[0].Inside != 8080 {
		t.Errorf("%+v", p)
	}
}

func TestFlagErrors(t *testing.T) {
	for want, flags := range map[string]Flags{
		`--allow-write: "$NOPE": the variable NOPE is not set`: {AllowWrite: []string{"$NOPE"}},
		`--allow-read: an empty entry`:                         {AllowRead: []string{""}},
		`--allow-domain: host pattern "http://a.test": a host`: {AllowDomain: []string{"http://a.test"}},
		`--preset: no preset is called "nod" (did you mean`:    {Preset: []string{"nod"}},
		`--env: "A B" is not a variable's name`:                {Env: []string{"A B=1"}},
		`--env: "" is not a variable's name`:                   {Env: []string{"=1"}},
		`--resolve: "a.test": write NAME=ADDRESS`:              {Resolve: []string{"a.test"}},
		`--resolve: "b" is not an IP address`:                  {Resolve: []string{"a.test=b"}},
		`--host-port: port "x"`:                                {HostPort: []string{"x"}},
		`--tmp: "x" is not one of`:                             {Tmp: "x"},
		`--upstream: not "env"`:                                {Upstream: "proxy"},
	} {
		in := testInput()
		in.Flags = flags
		if _, err := Load(in); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s…", err, want)
		}
	}
}
