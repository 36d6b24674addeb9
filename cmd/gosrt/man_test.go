package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// writeMan renders the command tree as gosrt(1), in man(7) macros. It is test
// code: the page is checked in, and TestDocs keeps it equal.
func writeMan(w io.Writer, root *cobra.Command) {
	fmt.Fprint(w, ".TH GOSRT 1 \"\" \"gosrt\" \"User Commands\"\n")
	fmt.Fprintf(w, ".SH NAME\ngosrt \\- %s\n", roff(root.Short))
	fmt.Fprint(w, ".SH SYNOPSIS\n")
	for _, line := range synopsis(root) {
		fmt.Fprintf(w, ".B %s\n.br\n", roff(line))
	}
	fmt.Fprintf(w, ".SH DESCRIPTION\n%s\n", roff(root.Long))
	fmt.Fprint(w, ".SH OPTIONS\n")
	writeManFlags(w, root)
	fmt.Fprint(w, ".SH COMMANDS\n")
	for _, c := range documented(root) {
		writeManCommand(w, c)
	}
	fmt.Fprint(w, ".SH EXIT STATUS\n")
	for _, e := range exitMeanings {
		fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(e.Status), roff(e.Meaning))
	}
	fmt.Fprint(w, manTail)
	fmt.Fprintf(w, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(root.Example))
}

const manTail = `.SH FILES
.TP
.I /etc/gosrt/policy.toml
The managed policy. It can only tighten; nothing opens what it denies.
.TP
.I ~/.config/gosrt/policy.toml
The user's policy.
.TP
.I .gosrt.toml
The project's policy. It can only tighten until
.B gosrt trust
has recorded its content.
.TP
.I ~/.local/state/gosrt/
What is trusted.
.TP
.I ~/.cache/gosrt/
The projects' private caches.
.SH ENVIRONMENT
.TP
.B NO_COLOR
No colours when set to anything.
.TP
.BR XDG_CONFIG_HOME ", " XDG_STATE_HOME ", " XDG_CACHE_HOME
Where the directories above lie.
.SH SECURITY
gosrt holds namespaces, mounts and a system call filter (Linux) or a profile
(macOS) against the command and everything it starts. It shares the host's kernel
with them. A command that may read a file and reach a host can send the one to the
other. What a run wrote is untrusted input for the programs that read it later.
.B gosrt plan
prints what is held for one command, and what is not on this host.
`

// documented are the commands worth a section: not cobra's help and completion.
func documented(parent *cobra.Command) []*cobra.Command {
	var list []*cobra.Command
	for _, c := range parent.Commands() {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		if c.HasSubCommands() {
			list = append(list, documented(c)...)
			continue
		}
		list = append(list, c)
	}
	return list
}

func synopsis(root *cobra.Command) []string {
	lines := []string{root.UseLine()}
	for _, c := range documented(root) {
		lines = append(lines, c.UseLine())
	}
	return lines
}

func writeManCommand(w io.Writer, c *cobra.Command) {
	fmt.Fprintf(w, ".SS %s\n", roff(c.UseLine()))
	text := c.Long
	if text == "" {
		text = strings.ToUpper(c.Short[:1]) + c.Short[1:] + "."
	}
	fmt.Fprintf(w, "%s\n", roff(text))
	if c.Flags().Lookup("allow-write") != nil {
		fmt.Fprint(w, ".PP\nIt takes the options above.\n")
		return
	}
	writeManFlags(w, c)
}

func writeManFlags(w io.Writer, c *cobra.Command) {
	for _, f := range flagHelps(c.LocalFlags()) {
		if f.spec != "-h, --help" {
			fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(f.spec), roff(f.usage))
		}
	}
}

// roff escapes what troff would read as a request or a hyphen of its own.
func roff(s string) string {
	s = strings.ReplaceAll(s, `\`, `\e`)
	s = strings.ReplaceAll(s, "-", `\-`)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
		if line == "" {
			lines[i] = ".PP"
		}
	}
	return strings.Join(lines, "\n")
}
