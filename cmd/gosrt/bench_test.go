package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The benchmarks measure through the whole of gosrt: a client inside the
// sandbox, the proxies outside, an origin on the host's loopback. Each has a
// twin through a relay that only copies, without a sandbox.

// benchClient is run inside; it repeats one thing for each line it reads and
// answers with a line. argv: mode, proxy address, target.
const benchClient = `
import socket, sys
mode, proxy, target = sys.argv[1], sys.argv[2], sys.argv[3]
host, port = target.rsplit(":", 1)
def dial():
    s = socket.create_connection(proxy.rsplit(":", 1))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if mode.startswith("connect"):
        s.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += s.recv(1)
        assert b" 200 " in head, head
    elif mode.startswith("socks"):
        s.sendall(b"\5\1\0")
        assert s.recv(2) == b"\5\0"
        s.sendall(b"\5\1\0\3" + bytes([len(host)]) + host.encode() + int(port).to_bytes(2, "big"))
        assert s.recv(10)[1] == 0
    return s
buffer = bytearray(1 << 20)
stream = dial() if mode.endswith("stream") else None
print("ready", flush=True)
for line in sys.stdin:
    n = int(line)
    if stream is None:
        for _ in range(n):
            s = dial()
            s.sendall(b"1\n")
            assert s.recv(1)
            s.close()
    else:
        stream.sendall(b"%d\n" % n)
        while n > 0:
            n -= stream.recv_into(buffer, min(n, len(buffer)))
    print("done", flush=True)
`

// startSource sends, for each line with a number that it reads, so many bytes.
func startSource(b *testing.B) string {
	b.Helper()
	block := make([]byte, 1<<20)
	return serve(b, func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			var n int
			if _, err := fmt.Fscanln(r, &n); err != nil {
				return
			}
			for ; n > 0; n -= min(n, len(block)) {
				if _, err := c.Write(block[:min(n, len(block))]); err != nil {
					return
				}
			}
		}
	})
}

// startRelay copies every connection to target and back.
func startRelay(b *testing.B, target string) string {
	b.Helper()
	return serve(b, func(c net.Conn) {
		up, err := net.Dial("tcp", target)
		if err != nil {
			return
		}
		defer up.Close()
		go func() {
			io.Copy(up, c)
			up.(*net.TCPConn).CloseWrite() // else nothing of the pair ever ends
		}()
		io.Copy(c, up)
	})
}

func serve(b *testing.B, handle func(net.Conn)) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				handle(c)
			}()
		}
	}()
	return l.Addr().String()
}

// benchPeer is a running client.
type benchPeer struct {
	in  io.Writer
	out *bufio.Reader
}

func (p benchPeer) do(b *testing.B, n int) {
	fmt.Fprintln(p.in, n)
	if line, err := p.out.ReadString('\n'); line != "done\n" {
		b.Fatalf("client said %q, %v", line, err)
	}
}

func startPeer(b *testing.B, inside bool, mode, proxy, target string) benchPeer {
	b.Helper()
	_, err := exec.LookPath("python3")
	need(b, err == nil, "python3")
	args := []string{"python3", "-c", benchClient, mode, proxy, target}
	if inside {
		args = append([]string{"gosrt", "--allow-domain", "source.test", "--resolve", "source.test=127.0.0.1", "--"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	work, err := os.MkdirTemp("/var/tmp", "gosrt-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(work) })
	cmd.Dir, cmd.Stderr = filepath.Join(work, "proj"), os.Stderr
	if err := os.Mkdir(cmd.Dir, 0o700); err != nil {
		b.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(work, "home"))
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); cmd.Wait() })
	p := benchPeer{in, bufio.NewReader(out)}
	if line, err := p.out.ReadString('\n'); line != "ready\n" {
		b.Fatalf("client said %q, %v", line, err)
	}
	return p
}

// forEachWay runs one measurement through the plain relay, both proxies, and as a
// program that knows no proxy, whose connections are captured.
func forEachWay(b *testing.B, suffix string, measure func(*testing.B, benchPeer)) {
	source := startSource(b)
	named := "source.test" + source[strings.LastIndex(source, ":"):]
	relay := startRelay(b, source)
	for _, way := range []struct {
		name, mode, proxy, target string
		inside                    bool
	}{
		{"relay", "plain", relay, source, false},
		{"connect", "connect", "127.0.0.1:3128", named, true},
		{"socks", "socks", "127.0.0.1:1080", named, true},
		{"captured", "plain", named, named, true},
	} {
		b.Run(way.name, func(b *testing.B) {
			p := startPeer(b, way.inside, way.mode+suffix, way.proxy, way.target)
			b.ResetTimer()
			measure(b, p)
		})
	}
}

func BenchmarkConnection(b *testing.B) {
	forEachWay(b, "", func(b *testing.B, p benchPeer) { p.do(b, b.N) })
}

func BenchmarkStream(b *testing.B) {
	const chunk = 64 << 20
	forEachWay(b, "-stream", func(b *testing.B, p benchPeer) {
		b.SetBytes(chunk)
		for range b.N {
			p.do(b, chunk)
		}
	})
}
