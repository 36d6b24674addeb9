package proxy

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// proto is a protocol that names its host in its first message.
type proto string

const (
	protoTLS   proto = "TLS"
	protoHTTP  proto = "HTTP"
	protoOther proto = ""
)

// firstMessage is what the first bytes of a connection say.
type firstMessage struct {
	proto  proto
	hosts  []string // the server name, or Host and the request's own authority
	tunnel bool     // an HTTP CONNECT
	// incomplete: more bytes could still change the answer.
	incomplete bool
	err        error
}

// readFirstMessage understands a TLS ClientHello and an HTTP/1 request head;
// everything else is protoOther and passes. HTTP/2 without TLS is among it.
func readFirstMessage(b []byte) firstMessage {
	switch {
	case len(b) == 0:
		return firstMessage{incomplete: true}
	case b[0] == tlsHandshake:
		return readClientHello(b)
	}
	return readRequestHead(b)
}

// TLS record layer, RFC 8446 section 5.1 and section 6.
const (
	tlsHandshake = 22
	tlsMajor     = 3
)

// tlsAccessDenied is the fatal alert access_denied(49).
var tlsAccessDenied = []byte{21, 3, 3, 0, 2, 2, 49}

// readClientHello lets crypto/tls parse the hello: it is a parser that has seen
// hostile input for years and refuses what others might read differently.
func readClientHello(b []byte) firstMessage {
	if len(b) > 1 && b[1] != tlsMajor {
		return firstMessage{}
	}
	m := firstMessage{proto: protoTLS}
	feed := &helloFeed{Reader: bytes.NewReader(b)}
	stop := errors.New("read")
	err := tls.Server(feed, &tls.Config{
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if hello.ServerName != "" {
				m.hosts = []string{hello.ServerName}
			}
			return nil, stop
		},
	}).Handshake()
	switch {
	case errors.Is(err, stop):
	case feed.dry:
		m.incomplete = true
	default:
		m.err = errors.New("not a valid ClientHello")
	}
	return m
}

// holdsHello says whether the records in b hold the whole of the first handshake
// message, or something that is none. RFC 8446 sections 4 and 5.1.
func holdsHello(b []byte) bool {
	const recordHeader, messageHeader = 5, 4
	var message []byte // its beginning
	size := 0
	for len(b) >= recordHeader {
		if b[0] != tlsHandshake {
			return true
		}
		end := recordHeader + int(binary.BigEndian.Uint16(b[3:]))
		part := b[recordHeader:min(end, len(b))]
		message = append(message, part[:min(len(part), messageHeader-len(message))]...)
		size += len(part)
		b = b[min(end, len(b)):]
	}
	return len(message) == messageHeader && size >= messageHeader+int(binary.BigEndian.Uint32(message)&0xffffff)
}

// helloFeed is the connection that crypto/tls reads a hello from. dry says that
// it wanted more than there was.
type helloFeed struct {
	*bytes.Reader
	dry bool
}

func (f *helloFeed) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	f.dry = f.dry || err == io.EOF
	return n, err
}

func (*helloFeed) Write(p []byte) (int, error)      { return len(p), nil }
func (*helloFeed) Close() error                     { return nil }
func (*helloFeed) LocalAddr() net.Addr              { return nil }
func (*helloFeed) RemoteAddr() net.Addr             { return nil }
func (*helloFeed) SetDeadline(time.Time) error      { return nil }
func (*helloFeed) SetReadDeadline(time.Time) error  { return nil }
func (*helloFeed) SetWriteDeadline(time.Time) error { return nil }

// maxMethod bounds what can be a method: "VERSION-CONTROL" is the longest known.
const maxMethod = 24

// readRequestHead collects every host that an HTTP/1 request head names.
func readRequestHead(b []byte) firstMessage {
	b = bytes.TrimLeft(b, "\r\n \t") // servers skip empty lines, RFC 9112 section 2.2
	if len(b) == 0 {
		return firstMessage{incomplete: true}
	}
	line, rest, ended := bytes.Cut(b, []byte("\n"))
	if !ended { // with no protocol yet, so that it is not held back
		return firstMessage{incomplete: maybeRequestLine(line)}
	}
	words := strings.Fields(string(line))
	if len(words) < 3 || !isHTTP1(words[len(words)-1]) || !maybeRequestLine(line) {
		return firstMessage{}
	}
	m := firstMessage{proto: protoHTTP, hosts: targetHosts(words[0], words[1]), tunnel: words[0] == http.MethodConnect}
	for {
		line, rest, ended = bytes.Cut(rest, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		switch {
		case !ended:
			m.incomplete = true
			return m
		case len(line) == 0:
			return m
		case line[0] == ' ' || line[0] == '\t':
			m.err = errors.New("a folded header line")
			return m
		}
		name, value, _ := strings.Cut(string(line), ":")
		if strings.EqualFold(strings.TrimSpace(name), "Host") {
			m.hosts = append(m.hosts, strings.TrimSpace(value))
		}
	}
}

// endsHead says whether b holds the empty line behind a request head.
func endsHead(b []byte) bool {
	return bytes.Contains(b, []byte("\n\n")) || bytes.Contains(b, []byte("\n\r\n"))
}

// isHTTP1 knows a version in any letters, as lenient servers do.
func isHTTP1(version string) bool { return strings.HasPrefix(strings.ToUpper(version), "HTTP/1") }

// maybeRequestLine says whether line begins as a request line: a method, which
// some servers take in any letters, then a space.
func maybeRequestLine(line []byte) bool {
	method, _, _ := bytes.Cut(line, []byte(" "))
	if len(method) == 0 || len(method) > maxMethod {
		return false
	}
	for _, c := range method {
		if !tokenByte(c) {
			return false
		}
	}
	return true
}

// tokenByte follows RFC 9110 section 5.6.2.
func tokenByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// targetHosts returns the authority of a target in absolute or authority form,
// which a second proxy behind the allowed host would follow.
func targetHosts(method, target string) []string {
	if method == http.MethodConnect {
		return []string{target}
	}
	_, rest, ok := strings.Cut(target, "://")
	if !ok || strings.HasPrefix(target, "/") {
		return nil
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return []string{rest}
}
