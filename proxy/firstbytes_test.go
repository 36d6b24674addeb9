package proxy

import (
	"encoding/binary"
	"strings"
	"testing"
)

// A message that comes byte by byte ends at the same byte as one that comes
// whole, and is not read anew for each byte.
func TestFirstMessageByteByByte(t *testing.T) {
	hello := clientHello(t, "a.test")
	for name, text := range map[string]string{
		"HTTP":                "GET /x HTTP/1.1\r\nHost: a.test\r\nX: " + strings.Repeat("y", 900) + "\r\n\r\n",
		"bare line feeds":     "GET /x HTTP/1.1\nHost: a.test\n\n",
		"no headers":          "GET /x HTTP/1.1\r\n\r\n",
		"many lines":          "GET /x HTTP/1.1\r\n" + strings.Repeat("a:\n", 900) + "\n",
		"TLS":                 string(hello),
		"TLS in tiny records": tinyRecords(hello),
	} {
		g, reads, end := &firstBytes{}, 0, -1
		for i := range text {
			g.held = []byte(text[:i+1])
			if !g.mayEnd(1) {
				continue
			}
			reads++
			m := readFirstMessage(g.held)
			g.seen = m.proto
			if !m.incomplete {
				end = i
				break
			}
		}
		if want := len(text) - 1; end != want {
			t.Errorf("%s: ends at byte %d, want %d", name, end, want)
		}
		if reads > 40 {
			t.Errorf("%s: read %d times", name, reads)
		}
	}
}

// tinyRecords carries a handshake message one byte a record.
func tinyRecords(hello []byte) string {
	var b []byte
	for _, c := range hello[5:] {
		b = append(b, tlsHandshake, 3, 1)
		b = append(binary.BigEndian.AppendUint16(b, 1), c)
	}
	return string(b)
}
