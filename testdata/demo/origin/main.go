// Command origin is a web server on 127.0.0.1. It writes its port to the file
// named by its argument.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := os.WriteFile(os.Args[1], fmt.Appendln(nil, port), 0o600); err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "today's prices, from %s\n", r.Host)
	})))
}
