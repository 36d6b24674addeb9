package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gosrt/gosrt/policy"
)

// tooLong is below the shortest time-out of any resolver or client here, so
// that waiting for one is told from an answer also on a busy machine.
const tooLong = 4 * time.Second

// TestNetworkUser runs the network's tests again as an ordinary user.
func TestNetworkUser(t *testing.T) {
	if os.Getuid() != 0 {
		return // the tests themselves are that run
	}
	dir, err := os.MkdirTemp("", "gosrt-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self := filepath.Join(dir, "sandbox.test")
	if err := errors.Join(os.Chmod(dir, 0o755), copyFile("/proc/self/exe", self), os.Mkdir(dir+"/tmp", 0), os.Chmod(dir+"/tmp", 0o777)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestNet", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "HOME="+dir+"/tmp", "TMPDIR="+dir+"/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestNetClients")) {
		t.Fatalf("%v\n%s", err, out)
	}
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// netRun is one run with what its network told.
type netRun struct {
	*Cmd
	mu         sync.Mutex
	violations []policy.Violation
	lookups    []string
}

// netCommand runs argv without proxy variables, under the built-in policy and n.
func netCommand(t *testing.T, n policy.Network, argv ...string) *netRun {
	t.Helper()
	h := newHome(t)
	env := []string{"env", "-i", "PATH=" + os.Getenv("PATH")}
	r := &netRun{Cmd: h.command(t.Context(), env[0], append(env[1:], argv...)...)}
	r.Policy.Filesystem.Tmp = policy.TmpHost // go test keeps its binary there
	r.Policy.Network = n
	r.OnViolation = func(v policy.Violation) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.violations = append(r.violations, v)
	}
	r.Resolve = func(_ context.Context, name string) ([]netip.Addr, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lookups = append(r.lookups, name)
		return nil, errors.New("no such name")
	}
	return r
}

// output returns what the command wrote; its status is the caller's to judge.
func (r *netRun) output(t *testing.T) (string, error) {
	t.Helper()
	out, err := r.CombinedOutput()
	var exit *ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for _, w := range r.Result().Plan.Weaknesses {
		if w.ID == "no-transparent" {
			missing(t, w.Text)
		}
	}
	return string(out), err
}

func (r *netRun) denied(target string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.violations, func(v policy.Violation) bool { return v.Target == target })
}

func allow(t *testing.T, texts ...string) policy.Network {
	t.Helper()
	var n policy.Network
	for _, text := range texts {
		pattern, err := policy.ParseHostPattern(text)
		if err != nil {
			t.Fatal(err)
		}
		n.Allowed = append(n.Allowed, policy.HostRule{Text: text, Pattern: pattern})
		if pattern.Host != "" {
			n.Hosts = append(n.Hosts, policy.HostEntry{Name: pattern.Host, Addrs: []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}})
		}
	}
	return n
}

// webOrigin serves "origin HOST" on this host's loopback.
func webOrigin(t *testing.T) (port string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "origin %s\n", r.Host) })}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// client is this test binary as a command inside.
func client(words ...string) []string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return append([]string{self, "-test.run=^TestNetworkClient$", "--"}, words...)
}

// TestNetworkClient is what runs inside: one operation, its outcome in one line.
func TestNetworkClient(t *testing.T) {
	if flag.NArg() != 2 {
		return // not a client
	}
	out, err := clientOps[flag.Arg(0)](flag.Arg(1))
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println(out)
	os.Exit(0)
}

var clientOps = map[string]func(string) (string, error){
	"get": func(url string) (string, error) {
		c := http.Client{Transport: &http.Transport{}} // no proxy, whatever the environment says
		r, err := c.Get(url)
		if err != nil {
			return "", err
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		return string(b), err
	},
	"getenv": func(url string) (string, error) { // as the environment says
		r, err := http.Get(url)
		if err != nil {
			return "", err
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		return string(b), err
	},
	"lookup": func(name string) (string, error) {
		r := net.Resolver{PreferGo: true}
		addrs, err := r.LookupHost(context.Background(), name)
		return strings.Join(addrs, " "), err
	},
	"tcp": func(at string) (string, error) {
		c, err := net.DialTimeout("tcp", at, tooLong)
		if err != nil {
			return "", err
		}
		b, err := io.ReadAll(c)
		if err == nil && len(b) == 0 {
			err = io.EOF
		}
		return string(b), err
	},
	"udp": func(at string) (string, error) {
		c, err := net.DialTimeout("udp", at, tooLong)
		if err != nil {
			return "", err
		}
		c.SetDeadline(time.Now().Add(tooLong))
		if _, err := c.Write([]byte("?")); err != nil {
			return "", err
		}
		_, err = c.Read(make([]byte, 10))
		return "answered", err
	},
	"netlink":  func(how string) (string, error) { return "changed", dropRoute(how == "sendto") },
	"flood":    func(at string) (string, error) { return flood(at) },
	"hold":     func(string) (string, error) { return "ended", hold() },
	"take":     func(at string) (string, error) { return "taken", takeOver(at) },
	"connects": func(at string) (string, error) { return timeConnects(at) },
	"listen": func(ports string) (string, error) {
		for _, at := range strings.Fields(ports) {
			l, err := net.Listen("tcp", at)
			if err != nil {
				return "", err
			}
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					fmt.Fprintf(c, "inside %s", at)
					c.Close()
				}
			}()
		}
		io.Copy(io.Discard, os.Stdin)
		return "ended", nil
	},
}

// dropRoute removes the route that brings connections to the supervisor, in the
// two ways that a netlink message can be addressed.
func dropRoute(addressed bool) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	m := binary.NativeEndian.AppendUint32(nil, 28)
	m = binary.NativeEndian.AppendUint16(m, unix.RTM_DELROUTE)
	m = binary.NativeEndian.AppendUint16(m, unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	m = append(m, make([]byte, 8)...)
	m = append(m, unix.AF_INET, 0, 0, 0, unix.RT_TABLE_LOCAL, 0, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0)
	if addressed {
		err = unix.Sendto(fd, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	} else {
		_, err = unix.Write(fd, m)
	}
	if err != nil {
		return err
	}
	answer := make([]byte, 4096)
	if _, err := unix.Read(fd, answer); err != nil {
		return err
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

// takeOver listens where somebody may listen already, as insistently as a
// process without privileges can.
func takeOver(at string) error {
	insist := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		control := c.Control(func(fd uintptr) {
			err = errors.Join(
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
		})
		return errors.Join(control, err)
	}}
	l, err := insist.Listen(context.Background(), "tcp", at)
	if err != nil {
		return err
	}
	return l.Close()
}

// Programs that know nothing of proxies reach what is allowed, by name and over
// both families, and learn at once that the rest is not there.
func TestNetClients(t *testing.T) {
	port := webOrigin(t)
	const python = `import socket,sys
a = socket.getaddrinfo(sys.argv[1], int(sys.argv[2]), socket.AF_INET6, socket.SOCK_STREAM)[0][4]
s = socket.create_connection(a[:2])
s.sendall(b"GET / HTTP/1.0\r\nHost: " + sys.argv[1].encode() + b"\r\n\r\n")
print(s.makefile().read())`
	const node = `fetch(process.argv[1]).then(r => r.text()).then(console.log, e => { console.log(String(e.cause)); process.exit(1) })`
	for name, argv := range map[string]func(host string) []string{
		"go":           func(host string) []string { return client("get", "http://"+host+":"+port) },
		"go resolver":  func(host string) []string { return client("lookup", host) },
		"getent":       func(host string) []string { return []string{"getent", "ahosts", host} },
		"curl":         func(host string) []string { return []string{"curl", "-sS", "http://" + host + ":" + port} },
		"python, IPv6": func(host string) []string { return []string{"python3", "-c", python, host, port} },
		"node":         func(host string) []string { return []string{"node", "-e", node, "http://" + host + ":" + port} },
		"dig, far": func(host string) []string {
			return []string{"sh", "-c", "dig +tries=1 +short @192.0.2.53 $0 | grep .", host}
		},
		"dig, stub": func(host string) []string {
			return []string{"sh", "-c", "dig +tries=1 +short @127.0.0.53 $0 | grep .", host}
		},
		"dig over TCP": func(host string) []string {
			return []string{"sh", "-c", "dig +tcp +tries=1 +short @192.0.2.53 $0 | grep .", host}
		},
		"dig over IPv6": func(host string) []string {
			return []string{"sh", "-c", "dig +tries=1 +short @2001:db8::53 $0 | grep .", host}
		},
	} {
		t.Run(name, func(t *testing.T) {
			needTool(t, strings.Fields(strings.TrimPrefix(strings.Join(argv("x"), " "), "sh -c "))[0])
			good := netCommand(t, allow(t, "site.test"), argv("site.test")...)
			out, err := good.output(t)
			if err != nil || !strings.Contains(out, "origin site.test") && !strings.Contains(out, "198.18.") && !strings.Contains(out, "fd67:") {
				t.Errorf("the allowed host: %v\n%s", err, out)
			}
			bad := netCommand(t, allow(t, "site.test"), argv("denied.test")...)
			began := time.Now()
			out, err = bad.output(t)
			if took := time.Since(began); err == nil || took > tooLong || strings.Contains(out, "origin") {
				t.Errorf("the denied host: %v after %v\n%s", err, took, out)
			}
			if !bad.denied("denied.test") {
				t.Errorf("the denial is not reported: %+v", bad.violations)
			}
			if len(good.lookups)+len(bad.lookups) != 0 {
				t.Errorf("asked upstream: %q, %q", good.lookups, bad.lookups)
			}
		})
	}
}

// git:// is a protocol that no proxy variable is for.
func TestNetGit(t *testing.T) {
	needTool(t, "git")
	repos := t.TempDir()
	at := freePort(t)
	daemon := exec.Command("git", "daemon", "--export-all", "--reuseaddr", "--listen=127.0.0.1", fmt.Sprintf("--port=%d", at), "--base-path="+repos)
	daemon.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if out, err := exec.Command("git", "init", "-q", "--bare", repos+"/r.git").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-daemon.Process.Pid, syscall.SIGKILL) // git runs the daemon as its child
		daemon.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", hostPort("127.0.0.1", at)); err == nil {
			c.Close()
			break
		}
	}
	url := func(host string) string { return fmt.Sprintf("git://%s:%d/r.git", host, at) }
	if out, err := netCommand(t, allow(t, "git.test"), "git", "ls-remote", url("git.test")).output(t); err != nil {
		t.Errorf("the allowed host: %v\n%s", err, out)
	}
	if out, err := netCommand(t, allow(t, "git.test"), "git", "ls-remote", url("denied.test")).output(t); err == nil {
		t.Errorf("the denied host: %s", out)
	}
}

func needTool(t *testing.T, tool string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		missing(t, err.Error())
	}
}

// missing skips a test that this host cannot run, and fails it where
// GOSRT_TEST_NEED=all says that the host must.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("GOSRT_TEST_NEED") == "all" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// What leads past the proxies leads nowhere, at once and with an error that a
// program understands.
func TestNetRefusals(t *testing.T) {
	port := webOrigin(t)
	if _, err := clientOps["get"]("http://127.0.0.1:" + port); err != nil {
		t.Fatalf("outside: %v", err) // the twin of "the host's loopback"
	}
	for _, tt := range []struct{ name, op, at, want string }{
		{"UDP", "udp", "192.0.2.1:443", "connection refused"},
		{"UDP over IPv6", "udp", "[2001:db8::1]:443", "connection refused"},
		{"an address", "get", "http://192.0.2.1:80", "403"},
		{"the host's loopback", "tcp", "127.0.0.1:" + port, "connection refused"},
		{"the host's loopback by another name", "tcp", "localhost:" + port, "connection refused"},
		{"the host's loopback, mapped", "tcp", "[::ffff:127.0.0.1]:" + port, "connection refused"},
		{"metadata", "get", "http://169.254.169.254/", "403"},
		{"another port is free", "take", "127.0.0.1:3129", "taken"}, // the twin of those below
		{"the proxy's port", "take", "127.0.0.1:3128", "address already in use"},
		{"the proxy's port on every address", "take", ":3128", "address already in use"},
		{"the other proxy's port", "take", "0.0.0.0:1080", "address already in use"},
		{"DNS", "take", "127.0.0.1:53", "permission denied"},
		{"routes", "netlink", "send", "operation not permitted"},
		{"routes, addressed", "netlink", "sendto", "operation not permitted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			argv := client(tt.op, tt.at)
			if tt.op == "get" { // plain HTTP has room for a reason
				argv = []string{"curl", "-sS", "-i", tt.at}
				needTool(t, "curl")
			}
			r := netCommand(t, allow(t, "site.test"), argv...)
			began := time.Now()
			out, _ := r.output(t)
			if took := time.Since(began); !strings.Contains(out, tt.want) || took > tooLong {
				t.Errorf("after %v: %q", took, out)
			}
		})
	}
}

func TestNetHostPorts(t *testing.T) {
	port := webOrigin(t)
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	other := webOrigin(t)
	n := policy.Network{HostPorts: []policy.PortRule{{Port: uint16(number), Text: port}}}
	for _, tt := range []struct{ host, port, want string }{
		{"127.0.0.1", port, "origin 127.0.0.1"},
		{"::1", port, "origin [::1]"},
		{"127.0.0.1", other, "connection refused"}, // exact ports
		{"127.0.0.2", port, "connection refused"},
	} {
		out, _ := netCommand(t, n, client("get", "http://"+net.JoinHostPort(tt.host, tt.port))...).output(t)
		if !strings.Contains(out, tt.want) {
			t.Errorf("%s:%s: %q", tt.host, tt.port, out)
		}
	}
}

func TestNetPublish(t *testing.T) {
	outside, fixed, found, same := freePort(t), freePort(t), freePort(t), freePort(t)
	n := policy.Network{Publish: []policy.PublishRule{
		{Outside: outside, Inside: fixed, Text: "fixed"}, {Outside: same, Inside: same, Text: "same"}, {Auto: true, Text: "auto"},
	}}
	listen := fmt.Sprintf("127.0.0.1:%d [::1]:%d 127.0.0.1:%d", fixed, found, same)
	r := netCommand(t, n, client("listen", listen)...)
	stdin, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Stdin = stdin
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		outside uint16
		want    string
	}{
		{outside, fmt.Sprintf("inside 127.0.0.1:%d", fixed)},
		{fixed, fmt.Sprintf("inside 127.0.0.1:%d", fixed)}, // by itself, under its own number
		{found, fmt.Sprintf("inside [::1]:%d", found)},
		{same, fmt.Sprintf("inside 127.0.0.1:%d", same)},
	} {
		at := hostPort("127.0.0.1", tt.outside)
		if got := eventually(at); got != tt.want {
			t.Errorf("%s: %q, want %q", at, got, tt.want)
		}
	}
	if c, err := net.Dial("tcp", "127.0.0.1:3128"); err == nil {
		c.Close()
		t.Error("the proxy's own port was published")
	}
	hold.Close()
	stdin.Close()
	if err := r.Wait(); err != nil {
		t.Error(err)
	}
	if len(r.violations) != 0 {
		t.Errorf("reported: %+v", r.violations)
	}
	for _, port := range []uint16{outside, fixed, found, same} {
		if c, err := net.Dial("tcp", hostPort("127.0.0.1", port)); err == nil {
			c.Close()
			t.Errorf("port %d is still there", port)
		}
	}
}

// A port that is taken refuses the run before anything has started.
func TestNetPublishTaken(t *testing.T) {
	port, err := strconv.ParseUint(webOrigin(t), 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	r := netCommand(t, policy.Network{Publish: []policy.PublishRule{{Outside: uint16(port), Inside: 80, Text: "x:80"}}}, "true")
	if err := r.Run(); err == nil || !strings.Contains(err.Error(), "publish x:80") || r.Result().Outcome != Refused {
		t.Errorf("%v, %s", err, r.Result())
	}
}

// eventually reads what is said at an address, once somebody is there.
func eventually(at string) string {
	var b []byte
	for deadline := time.Now().Add(10 * time.Second); len(b) == 0 && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", at); err == nil {
			b, _ = io.ReadAll(c)
			c.Close()
		}
	}
	return string(b)
}

func freePort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

// Without capturing, the same programs have no network, and the plan's own
// proxies still do.
func TestNetNoTransparent(t *testing.T) {
	port := webOrigin(t)
	n := allow(t, "site.test")
	n.NoTransparent = true
	url := "http://site.test:" + port
	if out, err := netCommand(t, n, client("get", url)...).output(t); err == nil {
		t.Errorf("captured although it is switched off: %q", out)
	}
	needTool(t, "curl")
	out, err := netCommand(t, n, "curl", "-sS", "-x", "http://127.0.0.1:3128", url).output(t)
	if err != nil || !strings.Contains(out, "origin site.test") {
		t.Errorf("through the proxy: %v, %q", err, out)
	}
}
