package sandbox

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseSearch(t *testing.T) {
	for text, want := range map[string]string{
		"nameserver 192.0.2.1":                  "",
		"search Corp.test svc.cluster.local.\n": "corp.test svc.cluster.local",
		"domain a.test\nsearch b.test\n":        "b.test",
		"search .\n":                            "",
		"# search c.test":                       "",
		"search":                                "",
	} {
		if got := strings.Join(parseSearch(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestParseHosts(t *testing.T) {
	const text = `127.0.0.1 localhost app.test
::1 localhost
10.0.0.5	DB.corp db  # the database
fe80::1%eth0 router
::ffff:10.0.0.6 mapped
10.0.0.7
not-an-address x
10.0.0.8 10.0.0.9 bad..name good
# 10.0.0.10 commented`
	var got []string
	for _, e := range parseHosts(text) {
		got = append(got, fmt.Sprintf("%s=%s", e.Name, e.Addrs[0]))
	}
	const want = "db.corp=10.0.0.5 db=10.0.0.5 router=fe80::1 mapped=10.0.0.6 good=10.0.0.8"
	if strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if readHost(t.TempDir()+"/none") != "" {
		t.Error("text from a file that is not there")
	}
}
