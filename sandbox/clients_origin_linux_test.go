package sandbox

import (
	"archive/zip"
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"net/http"
)

// serveWebSocket says one thing, RFC 6455.
func serveWebSocket(w http.ResponseWriter, r *http.Request) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) // section 1.3
	fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(sum[:]))
	const text = "over a WebSocket"
	fmt.Fprintf(c, "\x81%c%s\x88\x02\x03\xe8", len(text), text) // a text frame, a close frame: section 5.2
	_, _ = c.Read(make([]byte, 128))
}

// wheel is the smallest that pip takes.
func wheel() []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"METADATA": "Metadata-Version: 2.1\nName: thing\nVersion: 1.2.3\n",
		"WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"RECORD":   "",
	} {
		if f, err := z.Create("thing-1.2.3.dist-info/" + name); err == nil {
			fmt.Fprint(f, text)
		}
	}
	_ = z.Close()
	return b.Bytes()
}
