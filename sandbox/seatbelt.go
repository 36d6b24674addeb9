package sandbox

import (
	"errors"
	"net/url"
	"strings"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/darwin"
)

// refusedSeatbelt is a failed start as the caller of Start sees it.
func refusedSeatbelt(err error) error {
	refused := &RefusedError{Feature: "seatbelt", Got: err.Error(), Err: err}
	var setup *darwin.SetupError
	if errors.As(err, &setup) && strings.Contains(setup.Text, "sandbox_apply") {
		refused.Hint = "start gosrt outside of the sandbox that it runs in"
	}
	return refused
}

// relayedPorts are the ports that macOS does not publish by itself: there is no
// namespace, so a port inside is the same port of the host.
func relayedPorts(rules []policy.PublishRule) []policy.PublishRule {
	var out []policy.PublishRule
	for _, r := range rules {
		if !r.Auto && r.Outside != r.Inside {
			out = append(out, r)
		}
	}
	return out
}

// credentialed says that the upstream proxy is given a user: whoever reaches
// gosrt's proxy acts with it. One that cannot be read counts.
func credentialed(upstream string, env func(string) string) bool {
	urls := []string{upstream}
	if upstream == "env" {
		urls = nil
		for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
			urls = append(urls, env(name))
		}
	}
	for _, text := range urls {
		if u, err := url.Parse(text); strings.Contains(text, "@") || err != nil || u.User != nil {
			return true
		}
	}
	return false
}
