package sandbox

import (
	"errors"
	"testing"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/darwin"
)

func TestCredentialedUpstream(t *testing.T) {
	env := map[string]string{"HTTPS_PROXY": "http://u:p@proxy.test:3128"}
	for upstream, want := range map[string]bool{
		"": false, "http://proxy.test:3128": false, "http://u:p@proxy.test": true, "socks5://u@proxy.test": true,
		"u:p@proxy.test": true, "http://%zz": true, "env": true,
	} {
		if got := credentialed(upstream, func(name string) string { return env[name] }); got != want {
			t.Errorf("credentialed(%q) = %v, want %v", upstream, got, want)
		}
	}
	if credentialed("env", func(string) string { return "" }) {
		t.Error("no proxy variable counts as a password")
	}
}

func TestRelayedPorts(t *testing.T) {
	rules := []policy.PublishRule{{Outside: 80, Inside: 80}, {Outside: 81, Inside: 8081}, {Auto: true}}
	if got := relayedPorts(rules); len(got) != 1 || got[0].Outside != 81 {
		t.Errorf("relayed %v, want 81 alone", got)
	}
}

func TestRefusedSeatbelt(t *testing.T) {
	nested := refusedSeatbelt(&darwin.SetupError{Stage: "sandbox-exec", Text: "sandbox_apply: Operation not permitted"})
	other := refusedSeatbelt(&darwin.SetupError{Stage: "profile", Text: "unbound variable"})
	var refused *RefusedError
	if !errors.As(nested, &refused) || refused.Hint == "" {
		t.Errorf("nested run: %#v, want a hint", nested)
	}
	if !errors.As(other, &refused) || refused.Hint != "" {
		t.Errorf("profile fault: %#v, want no hint", other)
	}
}

// The plan is made again for the port on which the proxy already listens.
func TestPlanForProxyPort(t *testing.T) {
	c := Command(t.Context(), policy.Policy{}, "true")
	c.Env = []string{"PATH=/usr/bin"}
	plan, err := c.compile(45123)
	if err != nil {
		t.Fatal(err)
	}
	if plan.HTTPPort != 45123 || plan.SOCKSPort != 45123 || lookup(plan.Env, "HTTP_PROXY") != "http://127.0.0.1:45123" {
		t.Errorf("ports %d %d, HTTP_PROXY %q", plan.HTTPPort, plan.SOCKSPort, lookup(plan.Env, "HTTP_PROXY"))
	}
}
