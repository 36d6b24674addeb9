package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
)

func hello(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Host", r.Host)
	_, _ = io.WriteString(w, "hello "+r.URL.Path)
}

// The same host through each entrance: allowed, it answers; denied, the refusal
// names host and rule and nothing is looked up.
func TestCurlThroughEachEntrance(t *testing.T) {
	port := origin(t, hello)
	w := newWorld(t, "a.test")
	entrances := map[string][]string{
		"plain":   {"-x", "http://" + w.addr},
		"connect": {"-p", "-x", "http://" + w.addr},
		"socks5h": {"-x", "socks5h://" + w.addr},
	}
	for name, args := range entrances {
		t.Run(name, func(t *testing.T) {
			if out, err := curl(t, append(args, "http://a.test:"+port+"/x")...); err != nil || out != "hello /x" {
				t.Errorf("allowed: %q, %v", out, err)
			}
			for _, host := range []string{"b.test", "a.test.evil.test", "eviltest", "xa.test"} {
				before := len(w.lookedUp())
				out, err := curl(t, append(args, "http://"+host+":"+port+"/x")...)
				switch {
				case name == "plain" && (err != nil || !strings.Contains(out, host+":"+port+" is denied") || !strings.Contains(out, "rule: default")):
					t.Errorf("denied %s: %q, %v", host, out, err)
				case name == "connect" && !strings.Contains(fmt.Sprint(err), "response 403"):
					t.Errorf("denied %s: %q, %v", host, out, err)
				case name == "socks5h" && !strings.Contains(fmt.Sprint(err), "(2)"):
					t.Errorf("denied %s: %q, %v", host, out, err)
				}
				if v := w.lastViolation(); v.Target != host+":"+port || v.Hint != "--allow-domain "+host+":"+port {
					t.Errorf("denied %s: violation %+v", host, v)
				}
				if after := len(w.lookedUp()); after != before {
					t.Errorf("denied %s: looked up %v", host, w.lookedUp()[before:])
				}
			}
		})
	}
}

// curl returns the body; the error holds what it printed.
func curl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("curl", append([]string{"-sS", "-m", "10", "--noproxy", ""}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return string(out), err
}

func TestGoClient(t *testing.T) {
	port := origin(t, hello)
	w := newWorld(t, "a.test")
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(mustURL(t, "http://"+w.addr))}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://a.test:" + port + "/y")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 || string(body) != "hello /y" || resp.Header.Get("X-Host") != "a.test:"+port {
		t.Errorf("%s %q %v", resp.Status, body, resp.Header)
	}
	resp, err = client.Get("http://b.test:" + port + "/y")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 403 || resp.Header.Get("X-Gosrt-Denied") != "default" || !resp.Close {
		t.Errorf("denied: %s %v", resp.Status, resp.Header)
	}
}

func mustURL(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
