package policy

import (
	"strings"
	"testing"
)

func TestParseHostPattern(t *testing.T) {
	tests := []struct{ in, want, fault string }{
		{in: "*", want: "*"},
		{in: "*:443", want: "*:443"},
		{in: "Example.COM.", want: "example.com"},
		{in: "example.com:443", want: "example.com:443"},
		{in: "*.Example.com", want: "*.example.com"},
		{in: "*.example.com.:8443", want: "*.example.com:8443"},
		{in: "*.münchen.de", want: "*.xn--mnchen-3ya.de"},
		{in: "bedrock.*.amazonaws.com", want: "bedrock.*.amazonaws.com"},
		{in: "1.*.example.com", want: "1.*.example.com"},
		{in: "vm", want: "vm"},
		{in: "*.localhost", want: "*.localhost"},
		{in: "*.corp", want: "*.corp"},
		{in: "127.1", want: "127.0.0.1"},
		{in: "0x7f.0.0.2", want: "127.0.0.2"},
		{in: "127.0.0.1:3000", want: "127.0.0.1:3000"},
		{in: "::1", want: "::1"},
		{in: "[::1]", want: "::1"},
		{in: "[::1]:80", want: "[::1]:80"},
		{in: "[::ffff:1.2.3.4]", want: "1.2.3.4"},
		{in: "10.0.0.0/8", want: "10.0.0.0/8"},
		{in: "10.1.2.3/8:5432", want: "10.0.0.0/8:5432"},
		{in: "10.1.2.3/32", want: "10.1.2.3"},
		{in: "fd00::/8", want: "fd00::/8"},
		{in: "[fd00::/8]:443", want: "[fd00::/8]:443"},
		{in: "::ffff:10.0.0.0/104", want: "10.0.0.0/8"},
		{in: "0.0.0.0/0", want: "0.0.0.0/0"},

		{in: "", fault: "empty"},
		{in: " example.com", fault: "space"},
		{in: "https://example.com/x", fault: `write "example.com"`},
		{in: "example.com/x", fault: "address range"},
		{in: "user@x.y", fault: "user information"},
		{in: "a b.c", fault: "space"},
		{in: "a..b", fault: "empty label"},
		{in: "ex%41mple.com", fault: "%"},
		{in: "x\x00y", fault: "control"},
		{in: "999.1.1.1", fault: "not an IPv4"},
		{in: "example.com:0", fault: "port"},
		{in: "example.com:065", fault: "port"},
		{in: "example.com:65536", fault: "port"},
		{in: "example.com:", fault: "port"},
		{in: "*.", fault: "last label"},
		{in: "*..x", fault: "empty label"},
		{in: "**", fault: "more than one"},
		{in: "*.*.example.com", fault: "more than one"},
		{in: "ex*mple.com", fault: "whole label"},
		{in: "*example.com", fault: "whole label"},
		{in: "example.*", fault: "last label"},
		{in: "*.10.0.0.1", fault: "does not match addresses"},
		{in: "*.foo.1", fault: "numeric"},
		{in: "10.0.0.*", fault: "last label"},
		{in: "*.com", fault: "anybody"},
		{in: "*.co.uk", fault: "anybody"},
		{in: "*.github.io:443", fault: "anybody"},
		{in: "*.compute.amazonaws.com", fault: "anybody"},
		{in: "login.*.com", fault: "anybody"},
		{in: "10.0.0.0/33", fault: "address range"},
		{in: "::ffff:0:0/90", fault: "never match"},
		{in: "fe80::1%eth0", fault: "zone"},
		{in: "fe80::%eth0/64", fault: "address range"},
		{in: "[example.com]", fault: "IPv6"},
		{in: "[10.0.0.0/8", fault: "bracket"},
		{in: "*." + strings.Repeat("abcdefg.", 31) + "test", fault: "too long"},
	}
	for _, tt := range tests {
		p, err := ParseHostPattern(tt.in)
		switch {
		case tt.fault == "" && (err != nil || p.String() != tt.want):
			t.Errorf("ParseHostPattern(%q) = %q, %v; want %q", tt.in, p, err, tt.want)
		case tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)):
			t.Errorf("ParseHostPattern(%q) = %q, %v; want an error with %q", tt.in, p, err, tt.fault)
		case tt.fault != "" && p != (HostPattern{}):
			t.Errorf("ParseHostPattern(%q) returned %#v beside its error", tt.in, p)
		}
	}
}

func TestParseDeniedPatternTakesPublicSuffixes(t *testing.T) {
	p, err := ParseDeniedPattern("*.com")
	if err != nil || p.String() != "*.com" {
		t.Errorf("ParseDeniedPattern(*.com) = %q, %v", p, err)
	}
	if _, err := ParseDeniedPattern("a..b"); err == nil {
		t.Error("ParseDeniedPattern(a..b) accepted a pattern that never matches")
	}
}

func TestHostPatternMatch(t *testing.T) {
	tests := []struct {
		pattern  string
		yes, not []string
	}{
		{"example.com", []string{"example.com:1", "EXAMPLE.com.:2"},
			[]string{"a.example.com:1", "evilexample.com:1", "example.com.evil.tld:1", "example.co:1"}},
		{"example.com:443", []string{"example.com:443"}, []string{"example.com:80", "example.com:4430"}},
		{"*.example.com", []string{"a.example.com:1", "a.b.example.com:9"},
			[]string{"example.com:1", "badexample.com:1", "a.example.com.evil.tld:1"}},
		{"*.münchen.de", []string{"a.xn--mnchen-3ya.de:1", "a.MÜNCHEN.de:1"}, []string{"a.munchen.de:1"}},
		{"bedrock.*.amazonaws.com", []string{"bedrock.us-east-1.amazonaws.com:443"},
			[]string{"bedrock.a.b.amazonaws.com:443", "bedrock.amazonaws.com:443", "x.bedrock.a.amazonaws.com:443", "bedrock.a.amazonaws.com.evil.tld:443"}},
		{"*", []string{"a:1", "1.2.3.4:5", "[::1]:6"}, nil},
		{"*:443", []string{"a:443"}, []string{"a:80"}},
		{"127.0.0.1", []string{"127.1:1", "[::ffff:127.0.0.1]:1", "0x7f000001:1"}, []string{"127.0.0.2:1", "localhost:1"}},
		{"[::1]:80", []string{"[0:0::1]:80"}, []string{"[::1]:81", "[::2]:80"}},
		{"10.0.0.0/8", []string{"10.9.8.7:1", "[::ffff:10.0.0.1]:1"}, []string{"11.0.0.1:1", "a.10:1", "[64:ff9b::a00:1]:1"}},
		{"0.0.0.0/0", []string{"1.2.3.4:1"}, []string{"[::1]:1", "example.com:1"}},
	}
	for _, tt := range tests {
		p, err := ParseHostPattern(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range tt.yes {
			if h, err := ParseHostPort(text); err != nil || !p.Match(h) {
				t.Errorf("%q does not match %q (%v)", p, text, err)
			}
		}
		for _, text := range tt.not {
			if h, err := ParseHostPort(text); err == nil && p.Match(h) {
				t.Errorf("%q matches %q", p, text)
			}
		}
		if p.Match(HostPort{}) {
			t.Errorf("%q matches the zero destination", p)
		}
	}
	if (HostPattern{}).Match(HostPort{Host: "a", Port: 1}) {
		t.Error("the zero pattern matches")
	}
}

func TestPublicSuffix(t *testing.T) {
	for name, want := range map[string]bool{
		"com": true, "co.uk": true, "github.io": true, "ck": true, "x.ck": true,
		"www.ck":      false, // the list's own exception
		"example.com": false, "github.com": false, "amazonaws.com": false, "npmjs.org": false, "golang.org": false,
		"corp": false, "internal.corp": false,
	} {
		if got := publicSuffix(name); got != want {
			t.Errorf("publicSuffix(%q) = %v, want %v", name, got, want)
		}
	}
}

func FuzzParseHostPattern(f *testing.F) {
	for _, s := range []string{"*", "*.example.com:443", "a.*.b.org", "10.0.0.0/8", "[fd00::/8]:1", "::1", "127.1", "münchen.de"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseHostPattern(text)
		if err != nil {
			return
		}
		again, err := ParseHostPattern(p.String())
		if err != nil || again != p {
			t.Fatalf("%q: %q does not parse back: %#v, %#v, %v", text, p, p, again, err)
		}
		if p == (HostPattern{Port: p.Port}) {
			t.Fatalf("%q: accepted and matches nothing", text)
		}
	})
}
