package sandbox

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gosrt/gosrt/policy"
)

// connectsTimed is how many connections one round times.
const connectsTimed = 300

// timeConnects returns the median time until the first byte of a connection to
// at, with the look-up of its name.
func timeConnects(at string) (string, error) {
	resolver := net.Resolver{PreferGo: true}
	d := net.Dialer{Resolver: &resolver, FallbackDelay: -1}
	var times []time.Duration
	for range connectsTimed {
		began := time.Now()
		c, err := d.DialContext(context.Background(), "tcp4", at)
		if err != nil {
			return "", err
		}
		_, err = io.ReadFull(c, make([]byte, 1))
		times = append(times, time.Since(began))
		c.Close()
		if err != nil {
			return "", err
		}
	}
	slices.Sort(times)
	return times[len(times)/2].String(), nil
}

// BenchmarkCapturedConnect is a connection of a program that knows of no proxy,
// by name, until the origin's first byte; beside it the same without a sandbox.
func BenchmarkCapturedConnect(b *testing.B) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go sayAndHold(l)
	port := l.Addr().(*net.TCPAddr).Port
	pattern, err := policy.ParseHostPattern("site.test")
	if err != nil {
		b.Fatal(err)
	}
	var inside, outside time.Duration
	rounds := 0
	for b.Loop() {
		c := Command(b.Context(), policy.Policy{Network: policy.Network{
			Allowed: []policy.HostRule{{Text: "site.test", Pattern: pattern}},
			Hosts:   []policy.HostEntry{{Name: "site.test", Addrs: []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}}},
		}}, "env", append([]string{"-i"}, client("connects", fmt.Sprintf("site.test:%d", port))...)...)
		c.Dir, c.Policy.Filesystem.Tmp = "/", policy.TmpHost
		out, err := c.Output()
		if err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		inside += duration(b, string(out))
		direct, err := timeConnects(fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			b.Fatal(err)
		}
		outside += duration(b, direct)
		rounds++
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(inside.Microseconds())/float64(rounds), "captured-µs")
	b.ReportMetric(float64(outside.Microseconds())/float64(rounds), "direct-µs")
}

func duration(b *testing.B, text string) time.Duration {
	b.Helper()
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil {
		b.Fatal(err)
	}
	return d
}
