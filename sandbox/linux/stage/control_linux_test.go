package stage

import (
	"errors"
	"io"
	"testing"

	"golang.org/x/sys/unix"
)

// A stage that ends while a signal for its command is on the way has still said
// how the command ended.
func TestLastMessageSurvivesUnreadOnes(t *testing.T) {
	ours, theirs, err := SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	fd := int(ours.Fd())
	if err := Send(fd, Message{Kind: MsgSignal, Data: Number(int(unix.SIGQUIT))}); err != nil {
		t.Fatal(err)
	}
	if err := Send(int(theirs.Fd()), Message{Kind: MsgExit, Data: []byte("status")}); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	if m, err := Receive(fd); m.Kind != MsgExit || string(m.Data) != "status" || err != nil {
		t.Errorf("received %+v, %v", m, err)
	}
	if m, err := Receive(fd); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %+v, %v", m, err)
	}
}
