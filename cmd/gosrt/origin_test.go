package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
)

// startOrigin is a server on the loopback of the host, where nothing inside the
// sandbox reaches it but through the proxies.
func startOrigin() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "origin %s %s\n", r.Host, r.URL.Path)
	}))
}
