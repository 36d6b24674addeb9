package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRedactedForms(t *testing.T) {
	long := strings.Repeat("aB3", 14)
	for _, row := range []struct{ text, secret, keeps string }{
		{"curl --token " + long, long, "curl --token "},
		{"x --api-key=" + long, long, "x --api-key="},
		{"Authorization: Bearer " + long, long, "Authorization: Bearer "},
		{"Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz", "Basic "},
		{"/tmp/sk-" + long, long, "/tmp/"},
		{"ghp_" + long, long, ""},
		{"github_pat_" + long, long, ""},
		{"glpat-" + long, long, ""},
		{"npm_" + long, long, ""},
		{"lin_api_" + long, long, ""},
		{"https://user:hunter22@host/x", "hunter22", "host/x"},
		{"https://token@host/x", "token", "host/x"},
		{"https://host/x?sig=abc", "abc", "https://host/x?"},
		{"GET /x?sig=abc", "abc", "GET /x?"},
		{"GITHUB_TOKEN=abc", "abc", "GITHUB_TOKEN="},
		{`{"api_key": "abc"}`, "abc", `"api_key"`},
		{"AKIAIOSFODNN7EXAMPLE", "IOSFODNN7", ""},
		{"xoxb-1234567890-abcdef", "1234567890", ""},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- rest", "MIIE", "rest"},
		{"-----BEGIN PRIVATE KEY-----\nMIIE", "MIIE", ""},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "eyJzdWIi", ""},
	} {
		got := new(Redactor).Text(row.text)
		if strings.Contains(got, row.secret) || !strings.Contains(got, Redacted) || !strings.Contains(got, row.keeps) {
			t.Errorf("%q became %q", row.text, got)
		}
	}
}

func TestOrdinaryTextIsKept(t *testing.T) {
	for _, text := range []string{
		"/home/u/src/sk-learn/a.py", "write ~/.zshrc", "GET", "openat", "/usr/share/keyrings/x.gpg", "example.org:443",
		"/src/gh_pages", "what? no", "--keyboard us", "basic auth", "/srv/npm_modules", "a=b",
	} {
		if got := new(Redactor).Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestKnownSecretsGoByValue(t *testing.T) {
	asked := 0
	r := NewRedactor(func() []string { asked++; return []string{"short", "correct horse", "correct horse battery"} })
	got := r.Text("a correct horse battery b correct horse c short")
	if want := "a [redacted] b [redacted] c short"; got != want || asked != 1 {
		t.Errorf("%q, want %q; asked %d times", got, want, asked)
	}
}

func TestArgsHideTheValueAfterAFlag(t *testing.T) {
	got := new(Redactor).Args([]string{"tool", "--password", "x", "--token=y", "plain"})
	want := []string{"tool", "--password", Redacted, "--token=" + Redacted, "plain"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A known secret survives nowhere, whatever stands around it.
func TestKnownSecretProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-zA-Z0-9]{12,40}`).Draw(t, "secret")
		text := rapid.String().Draw(t, "before") + secret + rapid.String().Draw(t, "after")
		if got := NewRedactor(func() []string { return []string{secret} }).Line(text); strings.Contains(got, secret) {
			t.Fatalf("%q holds it", got)
		}
	})
}
