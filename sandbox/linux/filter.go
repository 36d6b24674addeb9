package linux

// FilterConfig selects what the static seccomp filter refuses.
type FilterConfig struct {
	UnixSockets bool // AF_UNIX socket() is allowed because connects are notified
}

// NotifyConfig selects the calls that are notified.
type NotifyConfig struct{}
