package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// bait is what the probe tries to reach from inside: a hidden file, a place
// outside every write root, listeners on this host. It lies on the host, so that
// a try that succeeds is a try that got out.
type bait struct {
	dir, work, hidden, outside string
	tcp                        net.Listener
	udp                        net.PacketConn
	unix                       net.Listener

	mu  sync.Mutex
	got map[string]bool // names of tries that arrived here
}

func newBait() (b *bait, err error) {
	b = &bait{got: map[string]bool{}}
	// Not the temp directory: the command has its own, and a miss would prove nothing.
	if b.dir, err = os.MkdirTemp("/var/tmp", "gosrt-probe-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	b.work, b.outside = filepath.Join(b.dir, "work"), filepath.Join(b.dir, "outside")
	b.hidden = filepath.Join(b.dir, "hidden")
	err = errors.Join(os.Mkdir(b.work, 0o700), os.Mkdir(b.outside, 0o700), os.WriteFile(b.hidden, []byte("hidden\n"), 0o600))
	if err != nil {
		return nil, err
	}
	if b.tcp, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if b.udp, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if b.unix, err = net.Listen("unix", filepath.Join(b.dir, "socket")); err != nil {
		return nil, err
	}
	go b.accept(tryConnect, b.tcp)
	go b.accept(trySocket, b.unix)
	go b.receive()
	return b, nil
}

func (b *bait) accept(name string, l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		c.Close()
		b.note(name)
	}
}

func (b *bait) receive() {
	if _, _, err := b.udp.ReadFrom(make([]byte, 512)); err == nil {
		b.note(tryDNS)
	}
}

func (b *bait) note(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got[name] = true
}

// arrived says which tries reached this host. A file that was made counts too.
func (b *bait) arrived() map[string]bool {
	if entries, _ := os.ReadDir(b.outside); len(entries) > 0 {
		b.note(tryWrite)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.got
}

func (b *bait) close() {
	for _, c := range []interface{ Close() error }{b.tcp, b.udp, b.unix} {
		if c != nil {
			c.Close()
		}
	}
	os.RemoveAll(b.dir)
}

// The variable tells the probe where the bait is: nothing else of it is secret.
const baitVariable = "GOSRT_PROBE"

func (b *bait) environ() []string {
	return []string{baitVariable + "=" + strings.Join([]string{
		b.outside, b.hidden, b.tcp.Addr().String(), b.udp.LocalAddr().String(), b.unix.Addr().String(), fmt.Sprint(os.Getpid()),
	}, "\n")}
}
