package policy

import (
	"strings"
	"testing"
)

func TestCanonicalHost(t *testing.T) {
	label63 := strings.Repeat("a", 63)
	tests := []struct {
		in   string
		want string // name or address; empty: refused
	}{
		{"example.com", "example.com"},
		{"EXAMPLE.COM.", "example.com"},
		{"localhost", "localhost"},
		{"_dmarc.example.com", "_dmarc.example.com"},
		{"r3---sn-x.example.com", "r3---sn-x.example.com"},
		{"münchen.de", "xn--mnchen-3ya.de"},
		{"MÜNCHEN.de", "xn--mnchen-3ya.de"},
		{"XN--mnchen-3ya.de", "xn--mnchen-3ya.de"},
		{"exa\u00admple.com", "example.com"}, // soft hyphen is dropped
		{"example。com", "example.com"},       // ideographic full stop
		{"example.com。", "example.com"},
		{label63 + ".test", label63 + ".test"},

		{"127.0.0.1", "127.0.0.1"},
		{"127.0.0.1.", "127.0.0.1"},
		{"127.1", "127.0.0.1"},
		{"2130706433", "127.0.0.1"},
		{"0x7f000001", "127.0.0.1"},
		{"0X7F.1", "127.0.0.1"},
		{"0177.0.0.1", "127.0.0.1"},
		{"017700000001", "127.0.0.1"},
		{"0", "0.0.0.0"},
		{"0x", "0.0.0.0"},
		{"1.2.3", "1.2.0.3"},
		{"2852039166", "169.254.169.254"},
		{"１２７.0.0.1", "127.0.0.1"}, // full-width digits
		{"127。0。0。1", "127.0.0.1"},
		{"⑫7.0.0.1", "127.0.0.1"},
		{"::1", "::1"},
		{"[::1]", "::1"},
		{"0:0:0:0:0:0:0:1", "::1"},
		{"::ffff:127.0.0.1", "127.0.0.1"},
		{"[::FFFF:7f00:1]", "127.0.0.1"},
		{"64:ff9b::7f00:1", "64:ff9b::7f00:1"},

		{"", ""},
		{".", ""},
		{"..", ""},
		{"。", ""},
		{"example.com..", ""},
		{".example.com", ""},
		{"a..b", ""},
		{"evil.com\x00.allowed.com", ""},
		{"evil.com%00.allowed.com", ""},
		{"::ffff:1.2.3.4%x.allowed.com", ""},
		{"fe80::1%eth0", ""},
		{"[fe80::1%25eth0]", ""},
		{"user@example.com", ""},
		{"user:pw@example.com", ""},
		{"example.com/path", ""},
		{`example.com\x`, ""},
		{"example.com?q", ""},
		{"example.com#f", ""},
		{"a b.c", ""},
		{" example.com", ""},
		{"example.com\r\nHost: evil", ""},
		{"example.com\t", ""},
		{"[example.com]", ""},
		{"[127.0.0.1]", ""},
		{"[::1", ""},
		{"::1]", ""},
		{"[]", ""},
		{"example.com:80", ""},
		{"1.2.3.4.5", ""},
		{"256.1.1.1", ""},
		{"1.2.3.256", ""},
		{"4294967296", ""},
		{"09.1.1.1", ""},
		{"foo.1", ""},
		{"foo.0x1", ""},
		{"127.0.0.0x", "127.0.0.0"},
		{"1..2", ""},
		{"xn--a", ""},
		{"-x.test", ""},
		{"x-.test", ""},
		{"*.example.com", ""},
		{"＊.example.com", ""},
		{"a!b.com", ""},
		{"exämple.com/", ""},
		{"example．com／x", ""},    // full-width slash maps to a slash
		{"ex\u2100mple.com", ""}, // maps to a/c
		{"\xff.com", ""},
		{label63 + "a.test", ""},
		{strings.Repeat(label63+".", 4) + "test", ""},
		{strings.Repeat("a", 5000), ""},
	}
	for _, tt := range tests {
		name, addr, err := CanonicalHost(tt.in)
		got := name
		if addr.IsValid() {
			got += addr.String()
		}
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("CanonicalHost(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\x00\r\n\t") {
			t.Errorf("CanonicalHost(%q): the error is not one printable line: %q", tt.in, err)
		}
	}
}

func TestParseHostPort(t *testing.T) {
	tests := []struct{ in, want string }{
		{"Example.com.:443", "example.com:443"},
		{"[::1]:80", "[::1]:80"},
		{"[::ffff:1.2.3.4]:80", "1.2.3.4:80"},
		{"127.1:8080", "127.0.0.1:8080"},
		{"a:65535", "a:65535"},
		{"example.com", ""},
		{"example.com:", ""},
		{":443", ""},
		{"", ""},
		{":", ""},
		{"::1:80", ""},
		{"a:1:2", ""},
		{"example.com:0", ""},
		{"example.com:65536", ""},
		{"example.com:99999", ""},
		{"example.com:080", ""},
		{"example.com:+80", ""},
		{"example.com:8_0", ""},
		{"example.com:http", ""},
		{"example.com: 80", ""},
		{"example.com:80 ", ""},
		{"example.com:80/x", ""},
		{"u@example.com:80", ""},
		{"http://x:443", ""},
		{"*:443", ""},
		{"[::1]80", ""},
		{"[::1]", ""},
	}
	for _, tt := range tests {
		h, err := ParseHostPort(tt.in)
		got := ""
		if err == nil {
			got = h.String()
		}
		if got != tt.want {
			t.Errorf("ParseHostPort(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
		}
		if err != nil && h != (HostPort{}) {
			t.Errorf("ParseHostPort(%q) returned %v beside its error", tt.in, h)
		}
	}
}

func FuzzParseHostPort(f *testing.F) {
	for _, s := range []string{"example.com:443", "[::1]:80", "127.1:1", "münchen.de:80", "a\x00b:1", "[::ffff:1.2.3.4]:9", "１.2:3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseHostPort(text)
		if err != nil {
			return
		}
		if !h.IsValid() {
			t.Fatalf("%q: accepted as an invalid %#v", text, h)
		}
		again, err := ParseHostPort(h.String())
		if err != nil || again != h {
			t.Fatalf("%q: %v does not parse back: %v, %v", text, h, again, err)
		}
		for _, r := range h.Host {
			if !labelRune(r) && r != '.' {
				t.Fatalf("%q: host %q holds %q", text, h.Host, r)
			}
		}
	})
}
