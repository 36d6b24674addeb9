package darwin

import (
	"fmt"
	"regexp"
	"slices"
)

// ttyName is what macOS calls its terminals (tty(4)).
var ttyName = regexp.MustCompile(`^/dev/ttys[0-9]{1,4}$`)

// ttyRules let the command use its own terminals and hide all others: reading
// another terminal takes the user's keys, writing to it speaks to its program.
func ttyRules(own []string, pty bool) ([]rule, error) {
	const every = "^/dev/ttys[0-9]+$"
	out := []rule{deny("file-read*").on(regex(every)).because("another terminal")}
	var read []string
	for _, name := range own {
		if !ttyName.MatchString(name) {
			return nil, fmt.Errorf("terminal %q: not a terminal's name", name)
		}
		read = append(read, literal(name))
	}
	write := read
	if pty {
		read = append(read, all(regex(every), `(extension "com.apple.sandbox.pty")`))
		write = append(slices.Clip(read), literal("/dev/ptmx"))
		out = append(out, allow("pseudo-tty"))
	}
	if len(read) > 0 {
		out = append(out,
			allow("file-read*").on(sorted(read)...),
			allow("file-write-data", "file-ioctl").on(sorted(write)...))
	}
	return out, nil
}
