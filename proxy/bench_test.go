package proxy

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"sync"
	"testing"
)

// Benchmarks come in pairs with a relay that does nothing but copy.

func benchServer(b *testing.B, port string) (addr string) {
	n := allowing(b, "a.test")
	s := &Server{Network: n}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = s.Serve(l) }()
	b.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}

// plainRelay copies each connection to the origin, spliced, with no protocol.
func plainRelay(b *testing.B, port string) string {
	relay := tcpOrigin(b, func(c *net.TCPConn) {
		out, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			return
		}
		defer out.Close()
		done := make(chan struct{})
		go func() {
			_, _ = io.Copy(out, c)
			_ = out.(*net.TCPConn).CloseWrite()
			close(done)
		}()
		_, _ = io.Copy(c, out)
		_ = c.CloseWrite()
		<-done
	})
	return "127.0.0.1:" + relay
}

type opener func(b *testing.B) *net.TCPConn

func dialTCP(b *testing.B, addr string) *net.TCPConn {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	return c.(*net.TCPConn)
}

func openers(b *testing.B, port string) []struct {
	name string
	open opener
} {
	addr, relay := benchServer(b, port), plainRelay(b, port)
	n, _ := strconv.Atoi(port)
	return []struct {
		name string
		open opener
	}{
		{"relay", func(b *testing.B) *net.TCPConn { return dialTCP(b, relay) }},
		{"CONNECT", func(b *testing.B) *net.TCPConn {
			c := dialTCP(b, addr)
			fmt.Fprintf(c, "CONNECT a.test:%s HTTP/1.1\r\nHost: a.test:%s\r\n\r\n", port, port)
			readN(b, c, len("HTTP/1.1 200 Connection established\r\n\r\n"))
			return c
		}},
		{"SOCKS5", func(b *testing.B) *net.TCPConn {
			c := dialTCP(b, addr)
			_, _ = c.Write([]byte{5, 1, 0})
			readN(b, c, 2)
			_, _ = c.Write(socksRequest(1, "a.test", n))
			readN(b, c, 10)
			return c
		}},
	}
}

// BenchmarkNewConnection opens a connection, passes one byte both ways and closes.
func BenchmarkNewConnection(b *testing.B) {
	for _, o := range openers(b, echoOrigin(b)) {
		b.Run(o.name, func(b *testing.B) {
			for b.Loop() {
				c := o.open(b)
				_, _ = c.Write([]byte{0})
				readN(b, c, 1)
				_ = c.SetLinger(0)
				_ = c.Close()
			}
		})
	}
}

// BenchmarkStream downloads 64 MiB per operation over one connection.
func BenchmarkStream(b *testing.B) {
	const size = 64 << 20
	port := tcpOrigin(b, func(c *net.TCPConn) {
		block := make([]byte, 256<<10)
		for {
			if _, err := io.ReadFull(c, block[:1]); err != nil {
				return
			}
			for sent := 0; sent < size; sent += len(block) {
				if _, err := c.Write(block); err != nil {
					return
				}
			}
		}
	})
	for _, o := range openers(b, port) {
		b.Run(o.name, func(b *testing.B) {
			c := o.open(b)
			defer c.Close()
			b.SetBytes(size)
			buf := make([]byte, 256<<10)
			for b.Loop() {
				_, _ = c.Write([]byte{0})
				for got := 0; got < size; {
					n, err := c.Read(buf)
					if err != nil {
						b.Fatal(err)
					}
					got += n
				}
			}
		})
	}
}

// BenchmarkIdleTunnels reports the memory of the server for each idle tunnel.
// Clients and origins live in this process too and are measured first, alone.
func BenchmarkIdleTunnels(b *testing.B) {
	const tunnels = 1000
	for _, o := range openers(b, echoOrigin(b)) {
		b.Run(o.name, func(b *testing.B) {
			for b.Loop() {
				before := memoryInUse()
				var open []*net.TCPConn
				for range tunnels {
					open = append(open, o.open(b))
				}
				b.ReportMetric(float64(memoryInUse()-before)/tunnels, "B/tunnel")
				for _, c := range open {
					_ = c.SetLinger(0)
					_ = c.Close()
				}
			}
		})
	}
}

func memoryInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// BenchmarkStreams64 uploads 8 MiB over each of 64 connections at once.
func BenchmarkStreams64(b *testing.B) {
	const streams, size = 64, 8 << 20
	port := tcpOrigin(b, func(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) })
	for _, o := range openers(b, port) {
		b.Run(o.name, func(b *testing.B) {
			b.SetBytes(streams * size)
			block := make([]byte, 256<<10)
			for b.Loop() {
				var all sync.WaitGroup
				for range streams {
					c := o.open(b)
					all.Go(func() {
						for range size / len(block) {
							_, _ = c.Write(block)
						}
						_ = c.CloseWrite()
						_, _ = io.Copy(io.Discard, c)
						_ = c.Close()
					})
				}
				all.Wait()
			}
		})
	}
}
