package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func settingsTest(text string) (Policy, error) {
	return ParseSettings(Source{Layer: LayerSettings, Name: "s.json", Data: []byte(text), Base: "/work"}, testVars)
}

// withSettings wraps one more member into a settings file that is valid for srt.
func withSettings(network, filesystem, top string) string {
	return `{"network": {"allowedDomains": [], "deniedDomains": []` + network +
		`}, "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []` + filesystem + `}` + top + `}`
}

func TestParseSettings(t *testing.T) {
	p, err := settingsTest(`{
  "network": {
    "allowedDomains": ["*.example.org", "api.test:443"],
    "deniedDomains": ["bad.example.org"],
    "deniedDomainReasons": {"bad.example.org": "it is bad"},
    "deniedResolvedAddresses": ["10.0.0.0/8"],
    "strictAllowlist": true,
    "allowUnixSockets": ["/run/a.sock"],
    "parentProxy": {"http": "http://proxy.test:3128", "https": "http://proxy.test:3128"}
  },
  "filesystem": {
    "denyRead": ["~", "$HOME/x", "a[b", "~root", "b\\c", "*.pem"],
    "allowRead": ["."],
    "allowWrite": ["./out/**"],
    "denyWrite": [".git/"]
  },
  "allowPty": true,
  "bwrapPath": "/opt/bwrap"
}`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, rule := range append(append(p.Filesystem.DenyRead, p.Filesystem.AllowWrite...), p.Filesystem.DenyWrite...) {
		got = append(got, rule.Path)
	}
	want := []string{"/home/u", "/work/$HOME/x", "/work/a[b", "/work/~root", `/work/b\c`, "/work/*.pem", "/work/out", "/work/.git"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !p.Filesystem.DenyRead[5].Pattern || p.Filesystem.DenyRead[2].Pattern {
		t.Errorf("patterns: %+v", p.Filesystem.DenyRead)
	}
	if p.Filesystem.DenyRead[1].Origin != (Origin{LayerSettings, "s.json", 12}) || p.Network.Allowed[1].Origin.Line != 3 {
		t.Errorf("origins: %+v %+v", p.Filesystem.DenyRead[1].Origin, p.Network.Allowed[1].Origin)
	}
	if !p.Filesystem.WriteImpliesRead || !p.Darwin.Pty || p.Bwrap != "/opt/bwrap" || p.Network.Upstream != "http://proxy.test:3128" {
		t.Errorf("a setting was lost: %+v", p)
	}
	if len(p.Notes) > 0 {
		t.Errorf("notes: %v", p.Notes)
	}
}

func TestParseSettingsNotes(t *testing.T) {
	p, err := settingsTest(withSettings(`, "allowLocalBinding": true, "allowAllUnixSockets": false`, ``,
		`, "ripgrep": {"command": "rg"}, "credentials": null`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"s.json:1: network.allowLocalBinding: no effect: binding to loopback inside is always allowed",
		"s.json:1: ripgrep: no effect: gosrt searches with no other program",
	}
	if diff := cmp.Diff(want, p.Notes); diff != "" {
		t.Error(diff)
	}
}

func TestParseSettingsErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{``, "empty"},
		{" \n\t", "empty"},
		{`{`, "end"},
		{`{"a": `, "ends too early"},
		{`[]`, "a list, where an object belongs"},
		{`null`, "null, where an object belongs"},
		{withSettings("", "", "") + "{}", "behind the end"},
		{withSettings("", "", "") + "x", "behind the end"},
		{`{}`, "network.allowedDomains: required"},
		{`{"network":{}}`, "network.allowedDomains: required"},
		{`{"network":{"allowedDomains":[],"deniedDomains":[]}}`, "filesystem.denyRead: required"},
		{"{\n\"network\":{\"allowedDomains\":null,\"deniedDomains\":[]}}", "s.json:2: network.allowedDomains: null, where a list of strings belongs"},
		{"{\n\"filesystm\":{}}", `s.json:2: unknown key "filesystm" at the top of the file (did you mean filesystem?)`},
		{"{\"filesystem\":{\n\"denyRaed\":[]}}", `s.json:2: unknown key "denyRaed" in [filesystem] (did you mean denyRead?)`},
		{"{\"filesystem\":{\n\"DenyRead\":[]}}", `(did you mean denyRead?)`},
		{"{\"network\":{\"allowedDomains\":[],\n\"allowedDomains\":[\"*\"]}}", `s.json:2: the key "allowedDomains" stands twice`},
		{`{"network":{"\u0061llowedDomains":[],"allowedDomains":[]}}`, `stands twice`},
		{withSettings("", `, "disabled": true`, ""), "not supported"},
		{withSettings(`, "mitmProxy": {"socketPath": "/x", "domains": ["a.test"]}`, "", ""), "network.mitmProxy: not supported"},
		{withSettings(`, "tlsTerminate": {}`, "", ""), "network.tlsTerminate: not supported"},
		{withSettings(`, "filterRequest": 1`, "", ""), "network.filterRequest: not supported"},
		{withSettings(`, "httpProxyPort": 3128`, "", ""), "not supported"},
		{withSettings("", "", `, "credentials": {"files": [{"path": "~/x", "mode": "deny"}]}`), "credentials: not supported"},
		{withSettings(`, "parentProxy": {"http": "http://a.test:1", "https": "http://b.test:1"}`, "", ""), "one parent proxy"},
		{withSettings(`, "parentProxy": {"http": "socks4://a.test:1"}`, "", ""), "scheme"},
		{withSettings(`, "parentProxy": {"noProxy": "a"}`, "", ""), "not supported"},
		{withSettings(`, "parentProxy": {"htp": "a"}`, "", ""), "did you mean http?"},
		{withSettings(`, "strictAllowlist": "yes"`, "", ""), "a string, where a boolean belongs"},
		{withSettings("", `, "allowRead": [""]`, ""), "an empty entry"},
		{withSettings("", `, "allowRead": ["a\ud800"]`, ""), "surrogate"},
		{withSettings("", `, "allowRead": ["a\u0000"]`, ""), "NUL"},
		{"{\"a\": \"\xff\"}", "not UTF-8"},
		{strings.Repeat("[", 100000), "nested too deeply"},
		{strings.Repeat(" ", maxPolicyBytes+1), "larger than 1 MiB"},
	} {
		p, err := settingsTest(tt.text)
		if err == nil {
			t.Errorf("%.80q was accepted: %+v", tt.text, p)
			continue
		}
		if position := new(PositionError); !errors.As(err, &position) || position.File != "s.json" {
			t.Errorf("%.80q: %v has no position", tt.text, err)
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.80q:\n got %v\nwant …%s…", tt.text, err, tt.want)
		}
	}
}
