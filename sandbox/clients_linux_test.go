package sandbox

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gosrt/gosrt/policy"
)

// clientRow is a real client. Its twin is the same client with a denied host.
type clientRow struct {
	name, tool string
	argv       func(host string) []string
	want       string
	slow       bool // only with GOSRT_TEST_LONG
}

// Real clients, each with the variables that gosrt sets, reach the allowed host,
// and the denied one not, soon and with a denial that is reported.
func TestClients(t *testing.T) {
	site := newSite(t)
	site.tryAll(t, clientRows(site))
}

func (s *site) tryAll(t *testing.T, rows []clientRow) {
	for _, row := range rows {
		if row.slow && os.Getenv("GOSRT_TEST_LONG") == "" {
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			needTool(t, row.tool)
			out, took, r := s.run(t, row.argv("site.test"))
			if !strings.Contains(out, row.want) || r.deniedHost("site.test") {
				t.Errorf("the allowed host, after %v: %s", took, out)
			}
			out, took, r = s.run(t, row.argv("denied.test"))
			if strings.Contains(out, row.want) || took > 2*tooLong {
				t.Errorf("the denied host, after %v: %s", took, out)
			}
			if !r.deniedHost("denied.test") {
				t.Errorf("the denial is not reported: %+v", r.violations)
			}
		})
	}
}

func clientRows(s *site) []clientRow {
	const python = "/usr/bin/python3" // Debian's, with Debian's modules
	sh := func(script string) func(string) []string {
		script = strings.NewReplacer("$PLAIN", s.plain, "$TLS", s.tls, "$CA", s.ca).Replace(script)
		return func(host string) []string { return []string{"sh", "-c", script, host} }
	}
	py := func(script string) func(string) []string {
		script = strings.NewReplacer("$PLAIN", s.plain, "$TLS", s.tls).Replace(script)
		return func(host string) []string { return []string{python, "-c", script, host} }
	}
	return []clientRow{
		{name: "curl", tool: "curl", argv: sh(`curl -sS http://$0:$PLAIN/`), want: "origin site.test"},
		{name: "curl, HTTP/2", tool: "curl", argv: sh(`curl -sS -w '%{http_version}' --http2 https://$0:$TLS/`), want: "origin site.test\n2"},
		{name: "curl, SOCKS5", tool: "curl", argv: sh(`curl -sS -x socks5h://127.0.0.1:1080 https://$0:$TLS/`), want: "origin site.test"},
		{name: "curl, directly", tool: "curl", argv: sh(`curl -sS --noproxy '*' https://$0:$TLS/`), want: "origin site.test"},
		{name: "wget", tool: "wget", argv: sh(`wget -q -t 1 -O - --ca-certificate $CA https://$0:$TLS/ http://$0:$PLAIN/`), want: "origin site.test"},
		{name: "git, http", tool: "git", argv: sh(`git clone -q http://$0:$PLAIN/git/r.git && cat r/file`), want: "committed"},
		{name: "git, https", tool: "git", argv: sh(`git -c http.sslCAInfo=$CA clone -q https://$0:$TLS/git/r.git && cat r/file`), want: "committed"},
		{name: "openssl", tool: "openssl", argv: sh(`printf 'GET / HTTP/1.0\r\nHost: '$0'\r\n\r\n' | openssl s_client -quiet -proxy 127.0.0.1:3128 -connect $0:$TLS -servername $0 -CAfile $CA`), want: "origin site.test"},
		{name: "openssl, directly", tool: "openssl", argv: sh(`printf 'GET / HTTP/1.0\r\nHost: '$0'\r\n\r\n' | openssl s_client -quiet -connect $0:$TLS -servername $0 -CAfile $CA`), want: "origin site.test"},
		{name: "node, fetch", tool: "node", argv: sh(`NODE_EXTRA_CA_CERTS=$CA node -e "fetch('https://$0:$TLS/').then(r => r.text()).then(console.log)"`), want: "origin site.test"},
		{name: "node, http", tool: "node", argv: sh(`node -e "http.get('http://$0:$PLAIN/', r => r.pipe(process.stdout))"`), want: "origin site.test"},
		{name: "urllib", tool: python, argv: py(`import sys, urllib.request as u
for url in ("http://%s:$PLAIN/", "https://%s:$TLS/"): print(u.urlopen(url % sys.argv[1]).read().decode())`), want: "origin site.test"},
		{name: "requests", tool: python, argv: py(`import sys, requests
print(requests.get("https://%s:$TLS/" % sys.argv[1]).text)`), want: "origin site.test"},
		{name: "asyncio", tool: python, argv: py(`import asyncio, sys
async def main():
    r, w = await asyncio.open_connection(sys.argv[1], $PLAIN)
    w.write(b"GET / HTTP/1.0\r\nHost: %s\r\n\r\n" % sys.argv[1].encode())
    print((await r.read()).decode())
asyncio.run(main())`), want: "origin site.test"},
		{name: "websockets", tool: python, argv: py(`import asyncio, sys, websockets
async def main():
    async with websockets.connect("ws://%s:$PLAIN/ws" % sys.argv[1]) as w: print(await w.recv())
asyncio.run(main())`), want: "over a WebSocket"},
		{name: "go", tool: "sh", argv: func(host string) []string { return client("getenv", "https://"+host+":"+s.tls) }, want: "origin site.test"},
		{name: "npm", tool: "npm", argv: sh(`npm --cache $PWD/npm --registry http://$0:$PLAIN/npm/ --fetch-retries 0 view thing version`), want: "1.2.3"},
		{name: "pip", tool: python, argv: sh(`/usr/bin/python3 -m pip download -q --retries 0 --disable-pip-version-check --no-deps --index-url http://$0:$PLAIN/simple --trusted-host $0 thing && ls`), want: "thing-1.2.3-py3-none-any.whl"},
		{name: "java", tool: "java", argv: sh(`printf 'class G { public static void main(String[] a) throws Exception { System.out.println(new String(new java.net.URL(a[0]).openStream().readAllBytes())); } }' >G.java && java -Xshare:auto -XX:TieredStopAtLevel=1 G.java http://$0:$PLAIN/`), want: "origin site.test", slow: true},
		{name: "chromium", tool: "chromium", argv: sh(`chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=$PWD/chromium --proxy-server=127.0.0.1:3128 --dump-dom http://$0:$PLAIN/ 2>/dev/null`), want: "origin site.test", slow: true},
	}
}

// site is what the clients go to, on this host's loopback.
type site struct{ plain, tls, ca, repos string }

func newSite(t *testing.T) *site {
	t.Helper()
	need(t)
	dir, err := os.MkdirTemp("/var/tmp", "gosrt-site-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &site{ca: filepath.Join(dir, "ca.pem"), repos: dir}
	s.makeRepo(t)
	handler := s.handler()
	plain := httptest.NewServer(handler)
	secure := httptest.NewUnstartedServer(handler)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{s.certificate(t)}}
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(func() { plain.Close(); secure.Close() })
	_, s.plain, _ = net.SplitHostPort(plain.Listener.Addr().String())
	_, s.tls, _ = net.SplitHostPort(secure.Listener.Addr().String())
	return s
}

// run is one run of a client under the built-in policy with the site allowed.
func (s *site) run(t *testing.T, argv []string) (out string, took time.Duration, r *netRun) {
	t.Helper()
	r = netCommand(t, s.network(t), argv...)
	r.Args = argv // with the variables that gosrt sets
	for _, name := range []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"} {
		r.Policy.Env.Set = append(r.Policy.Env.Set, policy.EnvRule{Name: name, Value: s.ca})
	}
	began := time.Now()
	out, _ = r.output(t)
	return out, time.Since(began), r
}

func (s *site) network(t *testing.T) policy.Network {
	n := allow(t, "site.test")
	n.Hosts = append(n.Hosts, policy.HostEntry{Name: "denied.test", Addrs: n.Hosts[0].Addrs})
	return n
}

// deniedHost says that a denial of host was reported, with or without a port.
func (r *netRun) deniedHost(host string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range r.violations {
		if name, _, _ := strings.Cut(v.Target, ":"); name == host {
			return true
		}
	}
	return false
}

// makeRepo makes a bare repository with one commit.
func (s *site) makeRepo(t *testing.T) {
	t.Helper()
	needTool(t, "git")
	script := `cd "$0" && git init -q --bare r.git && git -C r.git config http.receivepack true && git init -q w && cd w &&
echo committed >file && git add file && git -c user.name=u -c user.email=u@site.test commit -q -m one && git push -q ../r.git HEAD:refs/heads/main &&
git -C ../r.git symbolic-ref HEAD refs/heads/main`
	cmd := exec.Command("sh", "-c", script, s.repos)
	cmd.Env = append(os.Environ(), "HOME="+s.repos, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func (s *site) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := strings.Cut(r.Host, ":")
		fmt.Fprintf(w, "origin %s\n", host)
	})
	execPath, _ := exec.Command("git", "--exec-path").Output()
	mux.Handle("/git/", &cgi.Handler{
		Path: strings.TrimSpace(string(execPath)) + "/git-http-backend", Root: "/git",
		Env: []string{"GIT_PROJECT_ROOT=" + s.repos, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + s.repos},
	})
	mux.HandleFunc("/ws", serveWebSocket)
	mux.HandleFunc("/npm/thing", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"name":"thing","dist-tags":{"latest":"1.2.3"},"versions":{"1.2.3":{"name":"thing","version":"1.2.3","dist":{"tarball":"http://site.test/none.tgz"}}}}`)
	})
	mux.HandleFunc("/simple/thing/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<a href="/wheels/thing-1.2.3-py3-none-any.whl">thing-1.2.3-py3-none-any.whl</a>`)
	})
	mux.HandleFunc("/wheels/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(wheel()) })
	return mux
}

// certificate is one for the site's names, by an authority that is written to s.ca.
func (s *site) certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "gosrt test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{"site.test", "denied.test"},
		NotBefore: authority.NotBefore, NotAfter: authority.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	root, err1 := x509.CreateCertificate(rand.Reader, authority, authority, key.Public(), key)
	cert, err2 := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), key)
	err3 := os.WriteFile(s.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root}), 0o644)
	if err := errors.Join(err1, err2, err3, os.Chmod(s.repos, 0o755)); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{cert}, PrivateKey: key}
}
