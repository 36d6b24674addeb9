package darwin

import (
	"fmt"
	"strings"

	"github.com/gosrt/gosrt/policy"
)

// maxProfile bounds the text. The compiler takes seconds for thousands of
// filters, and a profile of this size is a policy that names files one by one
// where it could name a directory.
const maxProfile = 256 << 10

// Options are what a profile depends on beside the plan.
type Options struct {
	// Tag marks this run's denials in the log: hexadecimal digits, unguessable.
	// Empty: denials are not marked, and the profile is the same for every run.
	Tag string
	// TTYs are the terminals that the command's descriptors are
	// ("/dev/ttys004"). Other terminals are neither read nor written.
	TTYs []string
}

// Rendered is a profile and what its numbers mean.
type Rendered struct {
	// Text is the profile, for sandbox-exec -f. ASCII but for names in it.
	Text string
	// Rules are the numbered denials; Rules[i].Number is i.
	Rules []Rule
	// Weaknesses are what this profile does not hold beyond Plan.Weaknesses.
	Weaknesses []policy.Weakness
}

// Profile renders a plan. The same plan gives the same text.
//
// It fails on what cannot be said in a profile: a path or pattern with control
// characters, not UTF-8, too long or not canonical, a class beyond ASCII, a
// malformed Mach name, a profile beyond maxProfile. The error names the policy's
// entry and where it was written. What no profile holds is in docs/platforms.md.
func Profile(p *policy.Plan, o Options) (Rendered, error) {
	if strings.Trim(o.Tag, "0123456789abcdef") != "" {
		return Rendered{}, fmt.Errorf("BUG(gosrt): tag %q: not hexadecimal", o.Tag)
	}
	sections, weak, err := sections(p, o)
	if err != nil {
		return Rendered{}, err
	}
	s := sheet{tag: o.Tag}
	s.header()
	for _, part := range sections {
		s.section(part.title, part.rules)
	}
	if s.text.Len() > maxProfile {
		return Rendered{}, fmt.Errorf("file rules: %d bytes of profile, more than the %d that sandbox-exec loads in reasonable time; name directories instead of files",
			s.text.Len(), maxProfile)
	}
	if s.err != nil {
		return Rendered{}, s.err
	}
	return Rendered{Text: s.text.String(), Rules: s.rules, Weaknesses: weak}, nil
}

// section is a part of the profile; the order of the parts that name file
// operations is their meaning.
type section struct {
	title string
	rules []rule
}

func sections(p *policy.Plan, o Options) ([]section, []policy.Weakness, error) {
	files, err := newFileTable(p)
	if err != nil {
		return nil, nil, err
	}
	services, err := serviceRules(p.Darwin)
	if err != nil {
		return nil, nil, err
	}
	sockets, err := socketRules(p)
	if err != nil {
		return nil, nil, err
	}
	ttys, err := ttyRules(o.TTYs, p.Darwin.Pty)
	if err != nil {
		return nil, nil, err
	}
	return []section{
		{"allowed by version 1 unless denied by name", append(leftoverRules(), linkBase())},
		{"processes", processRules()},
		{"kernel values", sysctlRules()},
		{"services", services},
		{"network", append(networkRules(p), interfaceRules()...)},
		{"unix sockets", sockets},
		{"write roots", files.writeRules()},
		{"reads, shallow to deep", files.readRules()},
		{"denied writes", files.writeDenials()},
		{"moves", append(files.moveRules(), socketMoves(p)...)},
		{"terminals", ttys},
	}, weaknesses(p, files), nil
}

// sheet writes the text and numbers the denials.
type sheet struct {
	tag   string
	text  strings.Builder
	rules []Rule
	err   error
}

func (s *sheet) header() {
	s.text.WriteString("(version 1)\n")
	s.write(deny("default").because("no rule allows it"))
}

func (s *sheet) section(title string, rules []rule) {
	if len(rules) == 0 {
		return
	}
	s.text.WriteString("\n; " + title + "\n")
	for _, r := range rules {
		s.write(r)
	}
}

func (s *sheet) write(r rule) {
	for _, f := range r.filters {
		// A regex grows where letters are written in both cases.
		if n := longestString(f); n > maxLiteral && s.err == nil {
			s.err = tooLong(r)
		}
	}
	message := ""
	if !r.allow && !r.quiet {
		if s.tag != "" {
			message = fmt.Sprintf("%s%s-%d", tagPrefix, s.tag, len(s.rules))
		}
		s.rules = append(s.rules, Rule{Number: len(s.rules), Why: r.why, Entries: r.entries})
	}
	s.text.WriteString(r.text(message))
	s.text.WriteByte('\n')
}

func tooLong(r rule) error {
	const fault = "longer than a Seatbelt string can be; name a directory above it"
	if len(r.entries) > 0 {
		return ruleError(r.entries[0], fault)
	}
	return fmt.Errorf("file rule: %s", fault)
}

// longestString is the length of the longest quoted string in a filter.
func longestString(filter string) int {
	longest, start := 0, -1
	for i := 0; i < len(filter); i++ {
		switch {
		case filter[i] == '\\' && start >= 0:
			i++
		case filter[i] == '"' && start < 0:
			start = i
		case filter[i] == '"':
			longest, start = max(longest, i+1-start), -1
		}
	}
	return longest
}

// weaknesses are what this plan opens or leaves open on macOS.
func weaknesses(p *policy.Plan, files fileTable) []policy.Weakness {
	out := files.movePatterns()
	add := func(when bool, id, text string) {
		if when {
			out = append(out, policy.Weakness{ID: id, Text: text})
		}
	}
	ports, auto := published(p)
	add(auto || len(ports) > 0, "darwin-publish",
		"a published port is the host's own: what listens on it outside is reachable, and what the command serves on it too")
	add(p.TmpDir != "" && len(files.outer) > 1, "darwin-socket-moves",
		"a directory of a write root that holds a socket of the host can be moved to where the command may connect")
	add(len(files.outer) > 0, "darwin-no-birth",
		"a repository cannot be created or cloned inside a write root: nothing tells git's own files in it from others")
	return out
}

// quoteText is text from a policy, for a message.
func quoteText(s string) string { return fmt.Sprintf("%q", s) }
