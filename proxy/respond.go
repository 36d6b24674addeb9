package proxy

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/gosrt/gosrt/policy"
)

// deniedHeader lets a program see that it was the policy, and which rule.
const deniedHeader = "X-Gosrt-Denied"

// answer is the HTTP response for a denied or failed connection.
func answer(err error) *http.Response {
	var denied *deniedError
	if errors.As(err, &denied) {
		return denial(denied)
	}
	code := http.StatusBadGateway
	if isTimeout(err) {
		code = http.StatusGatewayTimeout
	}
	return textResponse(code, "gosrt: "+fault(err)+"\n")
}

func denial(e *deniedError) *http.Response {
	resp := textResponse(http.StatusForbidden, e.page())
	resp.Header.Set(deniedHeader, e.rule())
	return resp
}

func textResponse(code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Content-Type": {"text/plain; charset=utf-8"},
			"Connection":   {"close"},
		},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Close: true,
	}
}

// respond writes answer(err) through the server.
func respond(w http.ResponseWriter, err error) {
	writeResponse(w, answer(err))
}

func refuse(w http.ResponseWriter, code int, text string) {
	writeResponse(w, textResponse(code, "gosrt: "+text+"\n"))
}

func writeResponse(w http.ResponseWriter, resp *http.Response) {
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}

// malformed answers a request whose destination cannot be understood. It is a
// protocol error for the client and a violation for the user: such spellings
// are how rules are got around.
func (s *Server) malformed(w http.ResponseWriter, target, op string, err error) {
	_ = s.denyText(target, op, policy.Decision{Reason: "malformed destination: " + err.Error()})
	refuse(w, http.StatusBadRequest, printable(err.Error()))
}
