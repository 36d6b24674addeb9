//go:build race

package sandbox

// atOnce: under the race detector the kernel's patience with a connection ends
// before the proxy has come to it.
const atOnce = 1000
