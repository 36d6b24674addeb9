package linux

import (
	"encoding/hex"
	"flag"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

// The bytes are those that TestKernelCapture's kernel accepted, one message a
// line; nft --debug=netlink and strace read them.
func TestNetlinkBytes(t *testing.T) {
	if native.Uint16([]byte{1, 0}) != 1 {
		return // the file is little-endian; TestKernelCapture covers the others
	}
	var got strings.Builder
	for _, m := range append(append(everyAddressLocal(sources[0]), everyAddressLocal(sources[1])...), redirect(0x1234, 0x5678)...) {
		got.WriteString(hex.EncodeToString(m.encode(7)) + "\n")
	}
	const golden = "testdata/netlink.hex"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%swant\n%s", &got, want)
	}
}

func TestAttributesArePadded(t *testing.T) {
	for _, tt := range []struct {
		data string
		want int
	}{{"", 4}, {"a", 8}, {"abcd", 8}, {"abcde", 12}} {
		a := attr(9, []byte(tt.data))
		if len(a) != tt.want || int(native.Uint16(a)) != 4+len(tt.data) {
			t.Errorf("%q: %x", tt.data, a)
		}
	}
}

// A packet that lies about its lengths ends the loop instead of the program.
func TestEachMessage(t *testing.T) {
	good := netlinkMessage{kind: unix.NLMSG_ERROR, body: make([]byte, 6)}.encode(1)
	short := append([]byte(nil), good...)
	native.PutUint32(short, 3)
	long := append([]byte(nil), good...)
	native.PutUint32(long, 999)
	for name, tt := range map[string]struct {
		packet []byte
		want   int
	}{
		"two":          {append(append([]byte(nil), good...), good...), 2},
		"cut short":    {good[:20], 0},
		"shorter":      {append(append([]byte(nil), good...), short...), 1},
		"longer":       {append(append([]byte(nil), good...), long...), 1},
		"empty":        {nil, 0},
		"trailing pad": {append(append([]byte(nil), good...), 0, 0), 1},
	} {
		n := 0
		for range eachMessage(tt.packet) {
			n++
		}
		if n != tt.want {
			t.Errorf("%s: %d messages, want %d", name, n, tt.want)
		}
	}
}

func TestErrorOf(t *testing.T) {
	code := func(n int32) netlinkMessage {
		return netlinkMessage{kind: unix.NLMSG_ERROR, body: native.AppendUint32(nil, uint32(n))}
	}
	if err := errorOf(code(0)); err != nil {
		t.Errorf("an acknowledgement: %v", err)
	}
	if err := errorOf(code(-int32(unix.EPERM))); err != unix.EPERM {
		t.Errorf("a refusal: %v", err)
	}
	for _, m := range []netlinkMessage{{kind: unix.NLMSG_DONE}, {kind: unix.NLMSG_ERROR, body: []byte{0}}} {
		if errorOf(m) == nil {
			t.Errorf("%+v taken for an acknowledgement", m)
		}
	}
}
