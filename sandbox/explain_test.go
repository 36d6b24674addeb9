package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/proxy"
)

var explainPatterns = []string{"a.test", "*.a.test", "b.a.test", "*.test.test", "a.test:8443", "*.a.test:443", "xn--bcher-kva.test", "*"}

func genHostRules(t *rapid.T, label string) []policy.HostRule {
	var rules []policy.HostRule
	for _, text := range rapid.SliceOfNDistinct(rapid.SampledFrom(explainPatterns), 0, 3, rapid.ID).Draw(t, label) {
		pattern, err := policy.ParseDeniedPattern(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, policy.HostRule{Text: text, Pattern: pattern, Origin: policy.Origin{Layer: policy.LayerFlag, Name: label}})
	}
	return rules
}

// What explain says of a host is what the proxy does to a client, however the
// host is spelled, and both name the same rule.
func TestExplainAgreesWithProxy(t *testing.T) {
	verdicts := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		n := policy.Network{Allowed: genHostRules(t, "allowed"), Denied: genHostRules(t, "denied")}
		host := rapid.SampledFrom([]string{"a.test", "A.TEST", "a.test.", "b.a.test", "c.b.a.test", "xa.test", "XN--BCHER-KVA.test", "test", "a.test.test", "c.test"}).Draw(t, "host")
		target := fmt.Sprintf("%s:%d", host, rapid.SampledFrom([]int{80, 443, 8443}).Draw(t, "port"))
		answer, err := Explain(&policy.Plan{Network: n}, "connect", target)
		if err != nil {
			t.Fatal(err)
		}
		verdicts[answer.Verdict]++
		status, told := connectThrough(t, n, target)
		denied := answer.Verdict != "allow"
		if denied != (status == http.StatusForbidden) || denied != (len(told) == 1) {
			t.Fatalf("%s: explain says %s, the proxy %d and %+v", target, answer.Verdict, status, told)
		}
		if denied && (told[0].Reason != answer.Reason || told[0].Rule != answer.Rule || told[0].Hint != answer.Hint) {
			t.Fatalf("%s: explained by %+v, denied by %+v", target, answer, told[0])
		}
	})
	if verdicts["allow"] == 0 || verdicts["deny"] == 0 {
		t.Errorf("one side was never tried: %v", verdicts)
	}
}

// connectThrough asks a real proxy for a tunnel. No name resolves, so what is
// allowed fails later than what is denied.
func connectThrough(t *rapid.T, n policy.Network, target string) (status int, told []policy.Violation) {
	s := &proxy.Server{
		Network:     n,
		Resolve:     func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no such host") },
		OnViolation: func(v policy.Violation) { told = append(told, v) },
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- s.Serve(l) }()
	defer func() {
		s.Close()
		<-served
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode, told
}
