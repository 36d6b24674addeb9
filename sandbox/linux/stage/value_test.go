package stage

import (
	"reflect"
	"syscall"
	"testing"
	"time"
)

var whole = Value{
	Argv: []string{"printf", "a b", "", "x'y", "new\nline", "\xff\xfe", "<&>\u2028"},
	Env:  []string{"A=\xf0\x28", "B="},
	Dir:  "/d\xff", Grace: 2 * time.Second,
	Expect:   []Expect{{Dest: "/", Dev: 1 << 60, Ino: 7}, {Dest: "/x"}},
	Later:    []Expect{{Dest: "/later"}},
	Writable: []string{"/w"},
	Filter:   []Instruction{{Op: 0x20, Jt: 1, Jf: 255, K: 0xffffffff}, {Op: 0xffff}},
	Notify:   []Instruction{{K: 1}},
}

func TestValueArrivesWhole(t *testing.T) {
	got, err := Decode(whole.Encode())
	if err != nil || !reflect.DeepEqual(got, whole) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Nothing but the whole value starts a command: each shorter one is refused.
func TestValueCutShortIsRefused(t *testing.T) {
	data := whole.Encode()
	for n := range data {
		if v, err := Decode(data[:n]); err == nil {
			t.Errorf("the first %d bytes were accepted as %+v", n, v)
		}
	}
	if _, err := Decode(append(data, 0)); err == nil {
		t.Error("a byte too many was accepted")
	}
	if _, err := Decode(Value{Dir: "/"}.Encode()); err == nil {
		t.Error("a value without a command was accepted")
	}
}

func TestStatusArrivesWhole(t *testing.T) {
	for _, s := range []Status{
		{Ran: true, Code: 42}, {Ran: true, Signal: syscall.SIGKILL, Core: true},
		{Missing: true, Detail: "nope"}, {NotExecutable: true, Detail: "\xff"},
	} {
		if got, err := DecodeStatus(s.encode()); err != nil || got != s {
			t.Errorf("%+v became %+v, %v", s, got, err)
		}
	}
	if _, err := DecodeStatus(nil); err == nil {
		t.Error("an empty status was accepted")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(whole.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		if v, err := Decode(data); err == nil && len(v.Argv) == 0 {
			t.Error("no command")
		}
	})
}
