package linux

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/linux/stage"
)

// insideEnv holds what TestInside tries in a namespace of its own, one word for each
// attempt: "tcp:HOST:PORT", "udp:HOST:PORT", "listen:HOST:PORT".
const insideEnv = "GOSRT_TEST_INSIDE"

// withoutIPv6 is an attempt that comes before all others. It takes root.
const withoutIPv6 = "without:ipv6"

// TestInside is the stage's part of setting up a network, without bwrap: it
// makes sockets until it is told that the network is ready, then tries it.
func TestInside(t *testing.T) {
	attempts, ok := os.LookupEnv(insideEnv)
	if !ok {
		return // run by hand: there is no supervisor
	}
	if strings.Contains(attempts, withoutIPv6) {
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
	}
	early, err := stage.ServeSockets()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range early {
		fmt.Printf("early=%c\n", m.Kind)
	}
	for _, a := range strings.Fields(attempts) {
		kind, at, _ := strings.Cut(a, ":")
		fmt.Printf("%s=%s\n", a, tryOnce(kind, at))
	}
	stage.Receive(stage.FDControl) // until the supervisor has seen what it wants
	os.Exit(0)
}

// tryOnce says what came of it in one word, or what the other side said.
func tryOnce(kind, at string) string {
	if kind == "without" {
		return "done"
	}
	if kind == "listen" {
		if _, err := net.Listen("tcp", at); err != nil {
			return err.Error()
		}
		return "ok"
	}
	c, err := net.DialTimeout(kind, at, 20*time.Second)
	if err == nil && kind == "udp" {
		_, err = c.Write([]byte("?"))
	}
	if err == nil {
		c.SetDeadline(time.Now().Add(20 * time.Second))
		var b []byte
		if b, err = readSome(c); err == nil {
			return string(b)
		}
	}
	for _, errno := range []syscall.Errno{unix.ECONNREFUSED, unix.ENETUNREACH, unix.ECONNRESET, unix.EADDRNOTAVAIL} {
		if strings.Contains(err.Error(), errno.Error()) {
			return unix.ErrnoName(errno)
		}
	}
	return err.Error()
}

func readSome(c net.Conn) ([]byte, error) {
	buf := make([]byte, 100)
	n, err := c.Read(buf)
	return buf[:n], err
}

// insideNet is a child in a user and network namespace of its own.
type insideNet struct {
	t       *testing.T
	cmd     *exec.Cmd
	out     output
	control *os.File
	sockets *stageSockets
	heard   chan struct{} // closed when nothing more is read
	ending  sync.Once
}

// output can be looked at while it is written.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func newInside(t *testing.T, attempts ...string) *insideNet {
	t.Helper()
	ours, theirs, err := stage.SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	n := &insideNet{t: t, control: ours, heard: make(chan struct{}), sockets: newStageSockets(ours)}
	n.cmd = exec.Command("/proc/self/exe", "-test.run=^TestInside$")
	n.cmd.Env = append(os.Environ(), insideEnv+"="+strings.Join(attempts, " "))
	n.cmd.Stdout, n.cmd.Stderr = &n.out, &n.out
	n.cmd.ExtraFiles = []*os.File{null, theirs} // from 3 up, so theirs is stage.FDControl
	n.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	if err := n.cmd.Start(); err != nil {
		ours.Close()
		needNamespaces(t, err)
	}
	go n.read()
	t.Cleanup(n.end)
	n.raiseLoopback()
	return n
}

func needNamespaces(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("GOSRT_TEST_NEED") == "all" {
		t.Fatalf("this test needs user and network namespaces: %v", err)
	}
	t.Skipf("this test needs user and network namespaces: %v", err)
}

func (n *insideNet) read() {
	defer close(n.heard)
	defer close(n.sockets.answers)
	for {
		m, err := stage.Receive(int(n.control.Fd()))
		if err != nil {
			return
		}
		n.sockets.answers <- m
	}
}

// raiseLoopback does what bwrap does.
func (n *insideNet) raiseLoopback() {
	n.t.Helper()
	fd, err := opener(n.sockets.open).take(families[0].stream())
	if err != nil {
		n.t.Fatalf("%v\n%s", err, &n.out)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		n.t.Fatal(err)
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		n.t.Fatalf("raise lo: %v", err)
	}
}

// ready lets the inside try the network.
func (n *insideNet) ready() {
	n.t.Helper()
	if err := stage.Send(int(n.control.Fd()), stage.Message{Kind: stage.MsgReady}); err != nil {
		n.t.Fatal(err)
	}
}

func (n *insideNet) end() {
	n.ending.Do(func() {
		unix.Shutdown(int(n.control.Fd()), unix.SHUT_RDWR)
		n.cmd.Wait()
		<-n.heard
		n.control.Close()
	})
}

// results returns what became of each attempt.
func (n *insideNet) results() map[string]string {
	n.end()
	got := map[string]string{}
	for line := range strings.Lines(n.out.String()) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			got[k] = v
		}
	}
	return got
}

// serveAll answers on every socket with the words the attempts look for.
func serveAll(n *Network) {
	say := func(list []net.Listener, word func(net.Conn) string) {
		for _, l := range list {
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					io.WriteString(c, word(c))
					c.Close()
				}
			}()
		}
	}
	say(n.Proxies, func(net.Conn) string { return "proxy" })
	say(n.DNS, func(net.Conn) string { return "dns" })
	say(n.Captured, func(c net.Conn) string {
		dst, err := OriginalDst(c)
		if err != nil {
			return err.Error()
		}
		return "to " + dst.String()
	})
	for _, c := range n.Datagrams {
		go func() {
			b, oob := make([]byte, 100), make([]byte, 100)
			for {
				_, oobn, _, from, err := c.ReadMsgUDPAddrPort(b, oob)
				if err != nil {
					return
				}
				c.WriteMsgUDPAddrPort([]byte("dns"), oob[:oobn], from)
			}
		}()
	}
}

func refusing(open opener, refused stage.SocketSpec) opener {
	return func(specs ...stage.SocketSpec) ([]inside, error) {
		got, err := open(specs...)
		for i := range got {
			if specs[i] == refused {
				unix.Close(got[i].fd)
				got[i] = inside{-1, unix.EPROTONOSUPPORT}
			}
		}
		return got, err
	}
}

func networkPlan(t *testing.T, allow ...string) *policy.Plan {
	t.Helper()
	p := &policy.Plan{HTTPPort: 3128, SOCKSPort: 1080, Transparent: true}
	for _, text := range allow {
		pattern, err := policy.ParseHostPattern(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Network.Allowed = append(p.Network.Allowed, policy.HostRule{Text: text, Pattern: pattern})
	}
	return p
}

// Each rung catches what it says, and what it does not catch fails at once.
func TestKernelCapture(t *testing.T) {
	const refused, unreachable = "ECONNREFUSED", "ENETUNREACH"
	for _, tt := range []struct {
		name    string
		without stage.SocketSpec
		capture Capture
		why     string
		want    map[string]string
	}{
		{"all", stage.SocketSpec{}, CaptureAll, "", map[string]string{
			"tcp:192.0.2.1:443":          "to 192.0.2.1:443",
			"tcp:192.0.2.1:8443":         "to 192.0.2.1:8443",
			"tcp:[2001:db8::7]:22":       "to [2001:db8::7]:22",
			"tcp:198.18.0.1:80":          refused, // its own
			"tcp:[fd67:6f73:7274::1]:80": refused,
			"tcp:198.18.0.2:80":          "to 198.18.0.2:80",
			"tcp:[ff02::1]:80":           unreachable,
			"tcp:127.0.0.1:443":          refused,
			"tcp:127.9.9.9:443":          refused,
			"tcp:[::1]:443":              refused,
			"tcp:127.0.0.1:3128":         "proxy",
			"tcp:127.0.0.1:1080":         "proxy",
			"tcp:192.0.2.1:3128":         "to 192.0.2.1:3128",
			"tcp:8.8.8.8:53":             "dns",
			"tcp:127.0.0.53:53":          "dns",
			"udp:8.8.8.8:53":             "dns",
			"udp:127.0.0.53:53":          "dns",
			"udp:[2001:db8::53]:53":      "dns",
			"udp:[::1]:53":               "dns",
			"udp:192.0.2.1:443":          refused,
			"udp:[2001:db8::7]:443":      refused,
			"listen:127.0.0.1:8080":      "ok",
			"listen:[::1]:8080":          "ok",
			"listen:192.0.2.1:8443":      "ok", // and yet connections to it are captured
			"tcp:[::ffff:192.0.2.1]:9":   "to 192.0.2.1:9",
		}},
		{"ports", filterSocket, CapturePorts, "nf_tables: make a socket inside: protocol not supported", map[string]string{
			"tcp:192.0.2.1:443":     "to 192.0.2.1:443",
			"tcp:192.0.2.1:8443":    "to 192.0.2.1:8443",
			"tcp:[2001:db8::7]:443": "to [2001:db8::7]:443",
			"tcp:192.0.2.1:8444":    refused,
			"tcp:[2001:db8::7]:23":  refused,
			"tcp:127.0.0.1:3128":    "proxy",
			"udp:8.8.8.8:53":        "dns",
			"udp:192.0.2.1:443":     refused,
			"listen:127.0.0.1:8080": "ok",
		}},
		{"none", routeSocket, CaptureNone, "set the routes: make a socket inside: protocol not supported", map[string]string{
			"tcp:192.0.2.1:443":     unreachable,
			"tcp:[2001:db8::7]:443": unreachable,
			"tcp:127.0.0.1:3128":    "proxy",
			"udp:8.8.8.8:53":        unreachable,
			"udp:127.0.0.53:53":     refused,
		}},
		{"no IPv6", stage.SocketSpec{}, CaptureAll, "", map[string]string{
			withoutIPv6:             "done",
			"tcp:192.0.2.1:443":     "to 192.0.2.1:443",
			"tcp:[2001:db8::7]:443": "EADDRNOTAVAIL",
			"udp:8.8.8.8:53":        "dns",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			attempts := slices.Sorted(keys(tt.want))
			if tt.want[withoutIPv6] != "" && os.Getuid() != 0 {
				return // the run as root covers it
			}
			inside := newInside(t, attempts...)
			open := opener(inside.sockets.open)
			if tt.without != (stage.SocketSpec{}) {
				open = refusing(open, tt.without)
			}
			n, err := setUpNetwork(open, networkPlan(t, "site.test", "other.test:8443"))
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			if n.Capture != tt.capture || n.Why != tt.why {
				t.Errorf("%s (%s), want %s (%s)", n.Capture, n.Why, tt.capture, tt.why)
			}
			serveAll(n)
			inside.ready()
			waitFor(t, func() bool { return strings.Count(inside.out.String(), "=") >= len(attempts) })
			got := inside.results()
			for _, a := range attempts {
				if got[a] != tt.want[a] {
					t.Errorf("%s: %q, want %q", a, got[a], tt.want[a])
				}
			}
		})
	}
}

func keys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); {
		if time.Now().After(deadline) {
			t.Fatal("not within a minute")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestKernelHostPortsAndDial(t *testing.T) {
	inside := newInside(t, "tcp:127.0.0.1:54", "tcp:[::1]:54", "listen:127.0.0.1:8080", "listen:[::1]:8081", "listen:0.0.0.0:8082", "listen:127.0.0.2:8083")
	plan := networkPlan(t)
	plan.Transparent = false
	plan.Network.HostPorts = []policy.PortRule{{Port: 54}} // below 1024
	plan.Network.Publish = []policy.PublishRule{{Auto: true}}
	n, err := setUpNetwork(inside.sockets.open, plan)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	for _, l := range n.HostPorts {
		go func() {
			c, err := l.Accept()
			if err == nil {
				fmt.Fprintf(c, "host %d", l.Port)
				c.Close()
			}
		}()
	}
	inside.ready()
	waitFor(t, func() bool { return strings.Count(inside.out.String(), "=") >= 6 })
	if ports, err := n.Listening(); err != nil || !slices.Equal(ports, []uint16{8080, 8081, 8082}) {
		t.Errorf("the command listens on %d, %v", ports, err)
	}
	got := inside.results()
	for _, a := range []string{"tcp:127.0.0.1:54", "tcp:[::1]:54"} {
		if got[a] != "host 54" {
			t.Errorf("%s: %q", a, got[a])
		}
	}
	if _, err := n.Dial(8080); err == nil {
		t.Error("dialled a namespace whose stage has ended")
	}
}

func TestKernelDial(t *testing.T) {
	inside := newInside(t)
	plan := networkPlan(t)
	plan.Transparent = false
	n, err := setUpNetwork(inside.sockets.open, plan)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	serveAll(n)
	c, err := n.Dial(plan.HTTPPort)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if b, err := readSome(c); string(b) != "proxy" {
		t.Errorf("got %q, %v", b, err)
	}
	if c, err := net.DialTimeout("tcp4", fmt.Sprintf("127.0.0.1:%d", plan.HTTPPort), time.Second); err == nil {
		c.Close()
		t.Error("the proxy inside can be reached from outside")
	}
	if _, err := n.Dial(9); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("a closed port: %v", err)
	}
}

// What the supervisor sends before there is a command is kept for it.
func TestKernelEarlySignals(t *testing.T) {
	inside := newInside(t)
	if err := stage.Send(int(inside.control.Fd()), stage.Message{Kind: stage.MsgSignal, Data: stage.Number(15)}); err != nil {
		t.Fatal(err)
	}
	inside.ready()
	waitFor(t, func() bool { return strings.Contains(inside.out.String(), "early=K") })
}

func TestKernelManySockets(t *testing.T) {
	inside := newInside(t)
	want := slices.Repeat([]stage.SocketSpec{families[0].stream(), {Domain: unix.AF_INET, Type: 99}}, 3*stage.MaxSockets)
	got, err := inside.sockets.open(want...)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d of %d sockets: %v", len(got), len(want), err)
	}
	defer closeInside(got)
	for i, g := range got {
		if i%2 == 0 && g.fd < 0 || i%2 == 1 && g.fault == 0 {
			t.Fatalf("socket %d: %+v", i, g)
		}
		if g.fd < 0 {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(g.fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Fatalf("socket %d would leak into a child", i)
		}
	}
}

func TestSocketsOf(t *testing.T) {
	for name, m := range map[string]stage.Message{
		"too few":            {Data: []byte{1, 0}, FDs: []int{-5}},
		"too many":           {Data: []byte{3, 0, 0, 0}, FDs: []int{-5, -5, -5}},
		"descriptor missing": {Data: []byte{2, 0, 0}, FDs: []int{-5}},
		"descriptor spare":   {Data: []byte{2, 0, 1}, FDs: []int{-5, -5}},
		"cut short":          {Data: []byte{2, 0}},
	} {
		if got, err := socketsOf(m, 2); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	got, err := socketsOf(stage.Message{Data: []byte{2, 93, 0}, FDs: []int{7}}, 2)
	if err != nil || !slices.Equal(got, []inside{{-1, 93}, {7, 0}}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSourcesAreStandInsNeighbours(t *testing.T) {
	for i, want := range []string{"198.18.0.0/15", "fd67:6f73:7274::/96"} {
		if !netip.MustParsePrefix(want).Contains(sources[i]) {
			t.Errorf("%s is outside %s", sources[i], want)
		}
	}
}
