package policy

import (
	"strings"
	"testing"
)

func TestUpdate(t *testing.T) {
	start := Network{
		Allowed: []HostRule{allowRule(t, "a.test")},
		Denied:  []HostRule{allowRule(t, "mine.test"), allowRule(t, "managed.test")},
	}
	start.Denied[0].Origin.Layer, start.Denied[1].Origin.Layer = LayerFlag, LayerManaged
	for _, tt := range []struct{ text, allowed, denied, fault string }{
		{"", "a.test", "mine.test managed.test", ""},
		{"[network]\nallowedDomains = []", "", "mine.test managed.test", ""},
		{`{"network": {"allowedDomains": ["b.test"]}}`, "b.test", "mine.test managed.test", ""},
		{"network.deniedDomains = ['c.test']", "a.test", "managed.test c.test", ""},
		{"[network]\nallowedDomians = []", "", "", "did you mean allowedDomains"},
		{"[network]\nallowedDomains = ['a..b']", "", "", "a..b"},
		{"[network]\nupstream = 'http://x.test'", "", "", "upstream"},
		{"[filesystem]\ndenyWrite = ['x']", "", "", "filesystem"},
		{`{"network": {`, "", "", "control"},
		{`{"network": {}} {}`, "", "", "control"},
	} {
		n, err := start.Update(Source{Layer: LayerFile, Name: "control", Data: []byte(tt.text), Base: "/"}, Vars{})
		if tt.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%q: %v, want %q", tt.text, err, tt.fault)
			}
			tt.allowed, tt.denied = "a.test", "mine.test managed.test"
		} else if err != nil {
			t.Errorf("%q: %v", tt.text, err)
		}
		if a, d := hostTexts(n.Allowed), hostTexts(n.Denied); a != tt.allowed || d != tt.denied {
			t.Errorf("%q: allowed %q, denied %q; want %q, %q", tt.text, a, d, tt.allowed, tt.denied)
		}
	}
}

func TestExtend(t *testing.T) {
	start := Network{Allowed: []HostRule{allowRule(t, "a.test")}}
	n, err := start.Extend([]string{"b.test"}, []string{"c.test"})
	if err != nil || hostTexts(n.Allowed) != "a.test b.test" || hostTexts(n.Denied) != "c.test" || len(start.Allowed) != 1 {
		t.Errorf("%v, %+v", err, n)
	}
	if n, err := start.Extend([]string{"*"}, []string{""}); err == nil || hostTexts(n.Allowed) != "a.test" {
		t.Errorf("a broken entry: %v, %+v", err, n)
	}
}

func hostTexts(rules []HostRule) string {
	var texts []string
	for _, r := range rules {
		texts = append(texts, r.Text)
	}
	return strings.Join(texts, " ")
}
