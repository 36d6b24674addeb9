package linux

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSockaddr(t *testing.T) {
	addrPort := cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })
	for _, tt := range []struct {
		raw  string
		want Sockaddr
	}{
		{"\x01\x00/run/x.sock\x00", Sockaddr{Family: 1, Path: "/run/x.sock"}},
		{"\x01\x00/run/x.sock", Sockaddr{Family: 1, Path: "/run/x.sock"}}, // no NUL: the length ends it
		{"\x01\x00/run/x\x00/etc", Sockaddr{Family: 1, Path: "/run/x"}},
		{"\x01\x00rel", Sockaddr{Family: 1, Path: "rel"}},
		{"\x01\x00" + strings.Repeat("a", 108), Sockaddr{Family: 1, Path: strings.Repeat("a", 108)}},
		{"\x01\x00\x00name", Sockaddr{Family: 1, Abstract: "name"}},
		{"\x01\x00\x00na\x00me\x00", Sockaddr{Family: 1, Abstract: "na\x00me\x00"}},
		{"\x01\x00", Sockaddr{Family: 1}},
		{"\x02\x00\x00\x50\x7f\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00", Sockaddr{Family: 2, Inet: netip.MustParseAddrPort("127.0.0.1:80")}},
		{"\x0a\x00\x01\xbb\x00\x00\x00\x00" + strings.Repeat("\x00", 15) + "\x01\x00\x00\x00\x00", Sockaddr{Family: 10, Inet: netip.MustParseAddrPort("[::1]:443")}},
		{"\x0a\x00\x01\xbb\x00\x00\x00\x00" + strings.Repeat("\x00", 15) + "\x01", Sockaddr{Family: 10, Inet: netip.MustParseAddrPort("[::1]:443")}},
		{"\x00\x00", Sockaddr{}},
		{"\x28\x00anything", Sockaddr{Family: 40}},
	} {
		got, err := ParseSockaddr([]byte(tt.raw))
		if diff := cmp.Diff(tt.want, got, addrPort); err != nil || diff != "" {
			t.Errorf("%q: %v %s", tt.raw, err, diff)
		}
	}
	for _, raw := range []string{
		"", "\x01", "\x01\x00" + strings.Repeat("a", 109), "\x02\x00\x00\x50\x7f\x00\x00\x01", "\x0a\x00\x01\xbb",
		"\x28\x00" + strings.Repeat("x", 127),
	} {
		if got, err := ParseSockaddr([]byte(raw)); err == nil {
			t.Errorf("%q: got %+v, the kernel refuses it", raw, got)
		}
	}
}

func FuzzParseSockaddr(f *testing.F) {
	f.Add([]byte("\x01\x00/run/x.sock\x00"))
	f.Add([]byte("\x02\x00\x00\x50\x7f\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := ParseSockaddr(raw)
		switch {
		case err != nil && s != Sockaddr{}:
			t.Errorf("%x: an error and %+v", raw, s)
		case strings.ContainsRune(s.Path, 0):
			t.Errorf("%x: a path with a NUL: %q", raw, s.Path)
		case s.Path != "" && s.Abstract != "":
			t.Errorf("%x: two names", raw)
		}
	})
}
