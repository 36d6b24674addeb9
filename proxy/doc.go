// Package proxy is the command's only way out: an HTTP proxy and a SOCKS5 proxy
// on the same listeners, and an entrance for connections that were captured
// transparently. All of them meet in one guard:
//
//	parse -> Decide by name -> (ask) -> resolve once -> DecideAddr each -> dial exactly an address that passed
//
// The libraries parse and serve (elazarl/goproxy HTTP, armon/go-socks5 SOCKS5);
// the decision, the resolver, the dial and the life of every connection are
// ours, because both libraries open too much when used as they come.
//
// It is not a firewall: whoever can connect to a listener may use it, so the
// listeners must be reachable by the command alone. It does not look inside
// TLS beyond the server name, and an allowed host can be used to pass anything on.
//
// Neighbours: policy decides and knows no socket; sandbox makes the listeners,
// starts a Server per run and ends it.
package proxy
