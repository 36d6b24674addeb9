package policy

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// proxyKind is the form in which a tool wants the proxy's address.
type proxyKind int

const (
	proxyURL      proxyKind = iota // http://127.0.0.1:PORT
	proxySOCKS                     // socks5h://127.0.0.1:PORT
	proxyHostPort                  // 127.0.0.1:PORT of the HTTP proxy
	proxyHost                      // 127.0.0.1
	proxyPort                      // PORT of the HTTP proxy
	proxyWord                      // the row's own value
	proxyDirect                    // what is not proxied
)

type proxyRow struct {
	name string
	kind proxyKind
	word string
}

// proxyTable is every variable by which tools find a proxy. There is no password
// in any of them: on Linux the network namespace keeps others away.
var proxyTable = []proxyRow{
	{name: "HTTP_PROXY"}, {name: "http_proxy"},
	{name: "HTTPS_PROXY"}, {name: "https_proxy"},
	// An http URL here as well: httpx fails on socks5h without an extra package,
	// and gRPC only knows http.
	{name: "ALL_PROXY"}, {name: "all_proxy"},
	{name: "GRPC_PROXY"}, {name: "grpc_proxy"},
	{name: "WS_PROXY"}, {name: "ws_proxy"}, {name: "WSS_PROXY"}, {name: "wss_proxy"},
	// Over an http proxy curl would turn ftp into a gateway request.
	{name: "FTP_PROXY", kind: proxySOCKS}, {name: "ftp_proxy", kind: proxySOCKS},
	{name: "RSYNC_PROXY", kind: proxyHostPort},
	{name: "NO_PROXY", kind: proxyDirect}, {name: "no_proxy", kind: proxyDirect},
	{name: "NODE_USE_ENV_PROXY", kind: proxyWord, word: "1"},     // Node's own fetch, from 22.21 and 24
	{name: "npm_config_proxy"}, {name: "npm_config_https_proxy"}, // stand above a .npmrc file
	{name: "YARN_HTTP_PROXY"}, {name: "YARN_HTTPS_PROXY"}, // Yarn from version 2 reads no other
	{name: "GLOBAL_AGENT_HTTP_PROXY"}, {name: "ELECTRON_GET_USE_PROXY", kind: proxyWord, word: "1"},
	{name: "DOCKER_HTTP_PROXY"}, {name: "DOCKER_HTTPS_PROXY"},
	{name: "CLOUDSDK_PROXY_TYPE", kind: proxyWord, word: "http"},
	{name: "CLOUDSDK_PROXY_ADDRESS", kind: proxyHost}, {name: "CLOUDSDK_PROXY_PORT", kind: proxyPort},
}

// strayProxyNames are further variables that would lead to the host's proxy.
var strayProxyNames = []string{
	"SOCKS_PROXY", "socks_proxy", "SOCKS5_PROXY", "socks5_proxy", "SOCKS_SERVER", "AUTO_PROXY", "auto_proxy",
	"CLOUDSDK_PROXY_USERNAME", "CLOUDSDK_PROXY_PASSWORD", "PIP_PROXY", "CARGO_HTTP_PROXY", "BUNDLE_HTTP_PROXY",
	"BUNDLE_HTTPS_PROXY", "HTTP_PROXY_USER", "HTTP_PROXY_PASS", "npm_config_noproxy", "npm_config_http_proxy",
	"GLOBAL_AGENT_HTTPS_PROXY", "GLOBAL_AGENT_NO_PROXY", "GIT_HTTP_PROXY_AUTHMETHOD", "GIT_PROXY_SSL_CERT",
}

const (
	proxyReason = "gosrt's proxy is the way out"
	strayReason = "the host's proxy cannot be reached inside"
)

// setProxies replaces the caller's proxy variables, which name something that
// cannot be reached inside and may hold a password.
func (e *environment) setProxies(p Policy, proxy ProxyEnv) {
	for _, name := range strayProxyNames {
		e.drop(name, strayReason)
	}
	direct := p.Network.directNames()
	if slices.Contains(direct, "::1") {
		direct = append(direct, "[::1]") // as Python's urllib compares it
	}
	for _, row := range proxyTable {
		value := row.value(proxy, direct)
		if proxy.HTTPPort == 0 || value == "" {
			e.drop(row.name, strayReason)
			continue
		}
		e.set(row.name, value, proxyReason)
	}
	if proxy.HTTPPort == 0 {
		return
	}
	if len(p.Network.Allowed) == 0 && !p.Network.Ask {
		return
	}
	e.setJava(p.Network, proxy.HTTPPort)
	if !e.keep["GIT_SSH_COMMAND"] {
		e.set("GIT_SSH_COMMAND", sshCommand(proxy.SSHProxyCommand), proxyReason)
	}
}

func (e *environment) drop(name, why string) {
	if !e.keep[name] {
		e.remove(name, why)
	}
}

func (row proxyRow) value(proxy ProxyEnv, direct []string) string {
	http := strconv.Itoa(int(proxy.HTTPPort))
	switch row.kind {
	case proxySOCKS:
		if proxy.SOCKSPort == 0 {
			return ""
		}
		return "socks5h://127.0.0.1:" + strconv.Itoa(int(proxy.SOCKSPort))
	case proxyHostPort:
		return "127.0.0.1:" + http
	case proxyHost:
		return "127.0.0.1"
	case proxyPort:
		return http
	case proxyWord:
		return row.word
	case proxyDirect:
		return strings.Join(direct, ",")
	}
	return "http://127.0.0.1:" + http
}

// directNames are what stays inside the sandbox: its own loopback. One that the
// policy allows means the host's, and that is behind the proxy. Private ranges
// are never here, so that an allowed one is reached through the proxy.
func (n Network) directNames() []string {
	names := []string{"localhost", "127.0.0.1", "::1"}
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(n.Allowed, func(rule HostRule) bool { return rule.Pattern.names(name) })
	})
}

// names says that the pattern means this loopback name or address itself; "*"
// means the world outside.
func (p HostPattern) names(loopback string) bool {
	if addr, err := netip.ParseAddr(loopback); err == nil {
		return p.Prefix.IsValid() && p.Prefix.Bits() > 0 && p.Prefix.Contains(addr)
	}
	return p.Host == loopback
}

// setJava adds system properties: the JVM reads no proxy variable. Every JVM
// prints a line about JAVA_TOOL_OPTIONS, so it is only set where there is
// something to reach.
func (e *environment) setJava(n Network, port uint16) {
	var options []string
	if own := e.values["JAVA_TOOL_OPTIONS"]; own != "" {
		options = append(options, own)
	}
	for _, scheme := range []string{"http", "https"} {
		options = append(options, "-D"+scheme+".proxyHost=127.0.0.1", "-D"+scheme+".proxyPort="+strconv.Itoa(int(port)))
	}
	if len(n.directNames()) < 3 { // the JVM's default keeps loopback direct
		options = append(options, "-Dhttp.nonProxyHosts=")
	}
	e.set("JAVA_TOOL_OPTIONS", strings.Join(options, " "), proxyReason)
}

// sshCommand is GIT_SSH_COMMAND, which git gives to a shell. A shared master
// connection would lie outside of the sandbox, so there is none.
func sshCommand(proxyCommand string) string {
	command := "ssh -o ControlMaster=no -o ControlPath=none"
	if proxyCommand != "" {
		command += " -o " + shellQuote("ProxyCommand="+proxyCommand)
	}
	return command
}

func shellQuote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// sshProxyCommand connects through gosrt itself. ssh gives it to a shell, after
// replacing %h and %p.
func sshProxyCommand(gosrt string) string {
	return shellQuote(strings.ReplaceAll(gosrt, "%", "%%")) + " tunnel --listen - %h:%p"
}
