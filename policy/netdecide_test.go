package policy

import (
	"net/netip"
	"strings"
	"testing"
)

func hostRules(t testing.TB, texts ...string) []HostRule {
	t.Helper()
	var rules []HostRule
	for i, text := range texts {
		p, err := ParseDeniedPattern(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, HostRule{Text: text, Pattern: p, Origin: Origin{Layer: LayerFile, Name: "p.toml", Line: i + 1}})
	}
	return rules
}

func hostPort(t testing.TB, text string) HostPort {
	t.Helper()
	h, err := ParseHostPort(text)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestDecide(t *testing.T) {
	tests := []struct {
		name           string
		allowed        []string
		denied         []string
		ask            bool
		host           string
		want           Verdict
		rule, why, tip string
	}{
		{name: "nothing listed", host: "example.com:443", want: Deny, why: "no allowedDomains", tip: "--allow-domain example.com"},
		{name: "hint names an odd port", host: "example.com:8443", want: Deny, tip: "--allow-domain example.com:8443"},
		{name: "hint quotes brackets", host: "[2001:db8::1]:80", want: Deny, tip: "--allow-domain '[2001:db8::1]:80'"},
		{name: "listed", allowed: []string{"example.com"}, host: "example.com:443", want: Allow, rule: "allowedDomains example.com"},
		{name: "deny beats allow", allowed: []string{"evil.test"}, denied: []string{"evil.test"}, host: "evil.test:443", want: Deny, rule: "deniedDomains evil.test"},
		{name: "deny beats *", allowed: []string{"*"}, denied: []string{"*.evil.test"}, host: "a.evil.test:1", want: Deny, rule: "deniedDomains *.evil.test"},
		{name: "deny in another spelling", allowed: []string{"*"}, denied: []string{"*.münchen.de"}, host: "a.xn--mnchen-3ya.de:1", want: Deny, rule: "deniedDomains *.münchen.de"},
		{name: "deny a port only", allowed: []string{"*"}, denied: []string{"example.com:25"}, host: "example.com:443", want: Allow},
		{name: "deny of a literal reaches its carriers", allowed: []string{"*"}, denied: []string{"203.0.113.7"}, host: "[64:ff9b::cb00:7107]:80", want: Deny, rule: "deniedDomains 203.0.113.7"},
		{name: "ask", ask: true, host: "example.com:443", want: Ask},
		{name: "ask never opens a denied one", ask: true, denied: []string{"example.com"}, host: "example.com:443", want: Deny},
		{name: "ask never opens metadata", ask: true, host: "169.254.169.254:80", want: Deny, why: "metadata"},

		{name: "metadata name under *", allowed: []string{"*"}, host: "metadata.google.internal:80", want: Deny, why: "metadata", tip: "--allow-domain metadata.google.internal"},
		{name: "metadata name under a wildcard", allowed: []string{"*.internal"}, host: "metadata.google.internal:80", want: Deny},
		{name: "metadata name by itself", allowed: []string{"metadata.google.internal"}, host: "metadata.google.internal:80", want: Allow},
		{name: "telemetry under *", allowed: []string{"*"}, host: "o1.ingest.sentry.io:443", want: Deny, why: "telemetry"},
		{name: "telemetry under its own wildcard", allowed: []string{"*.anthropic.com"}, host: "statsig.anthropic.com:443", want: Deny, why: "telemetry"},
		{name: "telemetry by itself", allowed: []string{"o1.ingest.sentry.io"}, host: "o1.ingest.sentry.io:443", want: Allow},
		{name: "its neighbour", allowed: []string{"*.anthropic.com"}, host: "api.anthropic.com:443", want: Allow},

		{name: "metadata address under *", allowed: []string{"*"}, host: "2852039166:80", want: Deny, why: "metadata", tip: "--allow-domain 169.254.169.254"},
		{name: "metadata address under a range", allowed: []string{"169.254.0.0/16"}, host: "169.254.169.254:80", want: Deny},
		{name: "metadata address by itself", allowed: []string{"169.254.169.254"}, host: "169.254.169.254:80", want: Allow},
		{name: "loopback under *", allowed: []string{"*"}, host: "127.1:80", want: Deny, why: "loopback"},
		{name: "loopback under a range", allowed: []string{"127.0.0.0/8"}, host: "127.0.0.1:80", want: Deny},
		{name: "loopback by itself", allowed: []string{"127.0.0.1:3000"}, host: "127.0.0.1:3000", want: Allow},
		{name: "loopback on another port", allowed: []string{"*", "127.0.0.1:3000"}, host: "127.0.0.1:3001", want: Deny},
		{name: "an address that carries loopback", allowed: []string{"*", "127.0.0.1"}, host: "[64:ff9b::7f00:1]:80", want: Deny},
		{name: "private literal", allowed: []string{"10.0.0.0/8"}, host: "10.1.2.3:5432", want: Allow},
		{name: "public literal under *", allowed: []string{"*"}, host: "203.0.113.7:80", want: Allow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := Network{Allowed: hostRules(t, tt.allowed...), Denied: hostRules(t, tt.denied...), Ask: tt.ask}
			d := n.Decide(hostPort(t, tt.host))
			if d.Verdict != tt.want || tt.rule != "" && d.Rule != tt.rule ||
				!strings.Contains(d.Reason, tt.why) || tt.tip != "" && d.Hint != tt.tip {
				t.Errorf("Decide(%s) = %+v", tt.host, d)
			}
			if d.Reason == "" {
				t.Error("no reason")
			}
			if strings.HasSuffix(d.Rule, "evil.test") && d.Origin.String() != "p.toml:1" {
				t.Errorf("origin %q", d.Origin)
			}
		})
	}
}

func TestZeroNetworkDenies(t *testing.T) {
	if d := (Network{}).Decide(HostPort{}); d.Verdict != Deny {
		t.Errorf("the zero destination: %+v", d)
	}
	if d := (Network{Allowed: hostRules(t, "*")}).Decide(HostPort{}); d.Verdict != Deny {
		t.Errorf("the zero destination under *: %+v", d)
	}
	if d := (Network{}).DecideAddr(HostPort{}, netip.Addr{}, nil); d.Verdict != Deny {
		t.Errorf("the zero address: %+v", d)
	}
}

func TestDeniedReasonIsTheUsers(t *testing.T) {
	rules := hostRules(t, "evil.test")
	rules[0].Reason = "use the mirror"
	n := Network{Denied: rules}
	if d := n.Decide(hostPort(t, "evil.test:80")); d.Reason != "use the mirror" || d.Hint != "" {
		t.Errorf("%+v", d)
	}
}

func TestDecideAddr(t *testing.T) {
	own := []netip.Addr{netip.MustParseAddr("198.51.100.9"), netip.MustParseAddr("2001:db8::9")}
	tests := []struct {
		addr string
		want string // part of the reason of a denial; empty: allowed
	}{
		{"203.0.113.7", ""},
		{"2606:4700::1", ""},
		{"64:ff9b::cb00:7107", ""}, // NAT64 of a public address
		{"64:ff9b:1::cb00:7107", ""},
		{"64:ff9b:1:cb00:71:700::", ""},
		{"10.0.0.1", ""},
		{"100.64.0.1", ""},
		{"fd12::1", ""},

		{"127.0.0.1", "loopback"},
		{"127.255.255.254", "loopback"},
		{"::1", "loopback"},
		{"::ffff:127.0.0.1", "loopback"},
		{"::127.0.0.1", "loopback"},
		{"64:ff9b::7f00:1", "loopback"},
		{"64:ff9b:1::7f00:1", "loopback"},
		{"64:ff9b:1:7f00:0:100::", "loopback"}, // RFC 6052, /48 layout
		{"2002:7f00:1::", "loopback"},
		{"::ffff:0:127.0.0.1", "loopback"},
		{"2001:0:7f00:1::34ff:8ef8", "loopback"},     // Teredo server
		{"2001:0:cb00:7107::80ff:fffe", "loopback"},  // Teredo client, inverted
		{"2001:db8::5efe:127.0.0.1", "loopback"},     // ISATAP
		{"2001:db8::200:5efe:127.0.0.1", "loopback"}, // ISATAP, universal bit
		{"0.0.0.0", "unspecified"},
		{"0.1.2.3", "unspecified"},
		{"::", "unspecified"},
		{"::2", "unspecified"},
		{"169.254.1.1", "link-local"},
		{"fe80::1", "link-local"},
		{"fe80::1%eth0", "link-local"},
		{"224.0.0.1", "multicast"},
		{"ff02::1", "multicast"},
		{"255.255.255.255", "broadcast"},
		{"169.254.169.254", "metadata"},
		{"::ffff:169.254.169.254", "metadata"},
		{"64:ff9b::a9fe:a9fe", "metadata"},
		{"169.254.170.2", "metadata"},
		{"100.100.100.200", "metadata"},
		{"168.63.129.16", "metadata"},
		{"192.0.0.192", "metadata"},
		{"fd00:ec2::254", "metadata"},
		{"fd20:ce::254", "metadata"},
		{"198.51.100.9", "own addresses"},
		{"64:ff9b::c633:6409", "own addresses"},
		{"2001:db8::9", "own addresses"},
	}
	n := Network{Allowed: hostRules(t, "*", "a.test")}
	for _, tt := range tests {
		d := n.DecideAddr(hostPort(t, "a.test:80"), netip.MustParseAddr(tt.addr), own)
		if (d.Verdict == Allow) != (tt.want == "") || !strings.Contains(d.Reason, tt.want) {
			t.Errorf("DecideAddr(%s) = %+v, want %q", tt.addr, d, tt.want)
		}
		if d.Verdict != Allow && strings.Contains(d.Reason, tt.addr) {
			t.Errorf("DecideAddr(%s): the reason tells the address: %q", tt.addr, d.Reason)
		}
	}
}

func TestDecideAddrByRule(t *testing.T) {
	n := Network{
		Allowed:         hostRules(t, "a.test", "localhost", "127.0.0.1:3000", "192.168.7.0/24", "10.0.0.5"),
		Denied:          hostRules(t, "203.0.113.7"),
		DeniedAddresses: hostRules(t, "198.18.0.0/15", "10.0.0.0/8"),
		PrivateDenied:   true,
		Hosts:           []HostEntry{{Name: "a.test", Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.9")}}},
	}
	tests := []struct {
		host, addr string
		want       Verdict
		rule       string
	}{
		{"a.test:80", "203.0.113.7", Deny, "deniedDomains 203.0.113.7"},
		{"a.test:80", "64:ff9b::cb00:7107", Deny, "deniedDomains 203.0.113.7"},
		{"a.test:80", "2002:cb00:7107::", Deny, "deniedDomains 203.0.113.7"},
		{"a.test:3000", "127.0.0.1", Allow, ""},
		{"a.test:3001", "127.0.0.1", Deny, ""},
		{"a.test:3000", "::ffff:127.0.0.1", Allow, ""},
		{"a.test:3000", "64:ff9b::7f00:1", Deny, ""}, // a literal opens itself alone
		{"a.test:80", "127.0.0.9", Allow, ""},        // the policy's own hosts entry
		{"b.test:80", "127.0.0.9", Deny, ""},
		{"a.test:80", "198.18.3.4", Deny, "deniedAddresses 198.18.0.0/15"},
		{"a.test:80", "10.0.0.4", Deny, "deniedAddresses 10.0.0.0/8"},
		{"a.test:80", "10.0.0.5", Allow, ""},
		{"a.test:80", "172.16.0.1", Deny, ""},
		{"a.test:80", "192.168.7.1", Allow, ""},
		{"a.test:80", "192.168.8.1", Deny, ""},
		{"a.test:80", "fd12::1", Deny, ""},
		{"a.test:80", "64:ff9b::a9fe:a9fe", Deny, ""},
		{"localhost:80", "127.0.0.1", Allow, ""},
		{"localhost:80", "::1", Allow, ""},
		{"localhost:80", "203.0.113.9", Deny, ""},
	}
	for _, tt := range tests {
		d := n.DecideAddr(hostPort(t, tt.host), netip.MustParseAddr(tt.addr), nil)
		if d.Verdict != tt.want || tt.rule != "" && d.Rule != tt.rule {
			t.Errorf("DecideAddr(%s, %s) = %+v", tt.host, tt.addr, d)
		}
	}
	open := Network{Allowed: hostRules(t, "*")}
	if d := open.DecideAddr(hostPort(t, "localhost:80"), netip.MustParseAddr("127.0.0.1"), nil); d.Verdict != Deny {
		t.Errorf("* opens localhost: %+v", d)
	}
}

func TestLookup(t *testing.T) {
	n := Network{Hosts: []HostEntry{{Name: "a.test", Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}}}
	if addrs, ok := n.Lookup("a.test"); !ok || len(addrs) != 1 {
		t.Errorf("a.test: %v", addrs)
	}
	if addrs, ok := n.Lookup("x.localhost"); !ok || len(addrs) != 2 || !addrs[0].IsLoopback() {
		t.Errorf("x.localhost: %v", addrs)
	}
	for _, name := range []string{"b.test", "", "notlocalhost"} {
		if addrs, ok := n.Lookup(name); ok {
			t.Errorf("%q: %v", name, addrs)
		}
	}
}

// Every row of the built-in table answers, and by a name that canonical requests use.
func TestAlwaysDenied(t *testing.T) {
	for _, rule := range AlwaysDenied() {
		p, err := ParseDeniedPattern(rule.Text)
		if err != nil || p != rule.Pattern {
			t.Errorf("%q: %+v, %v", rule.Text, p, err)
		}
		name := strings.Replace(rule.Text, "*", "x", 1)
		n := Network{Allowed: hostRules(t, "*")}
		if d := n.Decide(hostPort(t, name+":443")); d.Verdict != Deny || d.Rule != "always denied "+rule.Text {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	n := Network{Allowed: hostRules(b, "*.npmjs.org", "pypi.org", "github.com", "*.golang.org")}
	h := hostPort(b, "go.golang.org:443")
	for b.Loop() {
		n.Decide(h)
	}
}

func BenchmarkParseHostPort(b *testing.B) {
	for b.Loop() {
		_, _ = ParseHostPort("go.golang.org:443")
	}
}
