package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/proxy"
)

// A command inside can ask about its own limits before it tries: it asks its
// proxy, which is gosrt outside, for a page that is on no host. So nothing of the
// policy lies open inside, the command gets no further descriptor, and a run that
// never asks pays nothing.

const (
	askPath = "/explain"
	// askHeader marks gosrt's own answers, so that another proxy on the same port
	// is not taken for gosrt.
	askHeader = "Gosrt-Explain"
	askLimit  = 3 * time.Second
	// maxQuestion is above PATH_MAX, spelled in a URL.
	maxQuestion = 3*4096 + 100
)

// selfServer answers questions from inside. Links are for the asker to follow, in
// its own view: to look outside would tell what lies in hidden places.
func selfServer(plan *policy.Plan) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(askHeader, "1")
		if r.URL.Path != askPath || len(r.URL.RawQuery) > maxQuestion {
			http.Error(w, "gosrt: no such question", http.StatusNotFound)
			return
		}
		q := r.URL.Query()
		a, err := explain(plan, q.Get("about"), q.Get("target"), filepath.Clean)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a)
	})
}

// ErrOutside says that the asker is in no sandbox of gosrt's.
var ErrOutside = errors.New("not inside a sandbox of gosrt")

// ExplainInside asks the sandbox that this process is in. It returns ErrOutside
// when it is in none.
func ExplainInside(ctx context.Context, proxyURL, about, target string) (Answer, error) {
	u, err := url.Parse(proxyURL)
	if err != nil || u.Scheme != "http" || u.Hostname() != "127.0.0.1" {
		return Answer{}, ErrOutside
	}
	resolved := target
	if fileQuestion(about) {
		if abs, err := filepath.Abs(target); err == nil {
			resolved = policy.Resolve(osFS{}, abs)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	a, err := askProxy(ctx, u, about, resolved)
	if err == nil && resolved != target {
		a.Target, a.Resolved = target, resolved
	}
	return a, err
}

func fileQuestion(about string) bool {
	return about == "read" || about == "write" || about == "exec" || about == "socket"
}

func askProxy(ctx context.Context, through *url.URL, about, target string) (Answer, error) {
	page := url.URL{Scheme: "http", Host: proxy.SelfHost, Path: askPath,
		RawQuery: url.Values{"about": {about}, "target": {target}}.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page.String(), nil)
	if err != nil {
		return Answer{}, err
	}
	t := &http.Transport{Proxy: http.ProxyURL(through), DialContext: (&net.Dialer{}).DialContext, DisableKeepAlives: true}
	resp, err := t.RoundTrip(req)
	if err != nil || resp.Header.Get(askHeader) == "" {
		return Answer{}, ErrOutside
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Answer{}, fmt.Errorf("%s %q: no answer (%s)", about, target, resp.Status)
	}
	var a Answer
	return a, json.NewDecoder(resp.Body).Decode(&a)
}
