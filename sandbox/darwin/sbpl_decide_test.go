package darwin

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The evaluator, part three: from expressions to rules, and the decision.

// request is one thing a process asks for.
type request struct {
	op    string // a leaf operation
	path  string // as the kernel resolved it
	vnode string
	// name is a Mach service or a sysctl.
	name   string
	proto  string // "tcp", "udp"
	host   string // "127.0.0.1", "::1", any other address
	port   int
	domain string
	number int
	target string
	// extension is one that the process holds.
	extension string
}

type sbplRule struct {
	allow   bool
	ops     []string
	match   func(request) bool // nil: unfiltered
	message string
	silent  bool
}

// sandboxProfile is a compiled profile. pessimist adds sbplPessimist to the preamble.
type sandboxProfile struct {
	rules     []sbplRule
	version   int
	pessimist bool
}

type answer struct {
	allow   bool
	message string
	silent  bool
	rule    int // index into rules; -1 for the preamble
}

// compileSBPL compiles a profile as one macOS would, or fails as it would.
func compileSBPL(text string, version int) (*sandboxProfile, error) {
	exprs, err := readSBPL(text)
	if err != nil {
		return nil, err
	}
	if len(exprs) == 0 || exprs[0].head() != "version" || len(exprs[0].list) != 2 || exprs[0].list[1].atom != "1" {
		return nil, fmt.Errorf("does not start with (version 1)")
	}
	p := &sandboxProfile{version: version}
	for _, e := range exprs[1:] {
		if err := p.form(e); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *sandboxProfile) bound(op string) bool {
	o, ok := sbplOps[op]
	return ok && o.since <= p.version
}

func (p *sandboxProfile) form(e sexp) error {
	switch e.head() {
	case "allow", "deny":
		r, err := p.rule(e)
		p.rules = append(p.rules, r)
		return err
	case "if":
		if len(e.list) != 3 || e.list[1].head() != "defined?" || len(e.list[1].list) != 2 || e.list[1].list[1].head() != "quote" {
			return fmt.Errorf("if: only (if (defined? 'op) form)")
		}
		if p.bound(e.list[1].list[1].list[1].atom) {
			return p.form(e.list[2])
		}
		return nil
	}
	return fmt.Errorf("unbound variable: %q", e.head())
}

func (p *sandboxProfile) rule(e sexp) (sbplRule, error) {
	r := sbplRule{allow: e.head() == "allow"}
	var any []func(request) bool
	for _, part := range e.list[1:] {
		switch {
		case part.str:
			return r, fmt.Errorf("a string where an operation belongs")
		case !part.isList:
			if !p.bound(part.atom) {
				return r, fmt.Errorf("unbound variable: %s", part.atom)
			}
			r.ops = append(r.ops, part.atom)
		case part.head() == "with":
			if err := r.modifier(part); err != nil {
				return r, err
			}
		default:
			f, err := p.filter(part, r.ops)
			if err != nil {
				return r, err
			}
			any = append(any, f)
		}
	}
	if len(r.ops) == 0 {
		return r, fmt.Errorf("a rule without an operation")
	}
	if any != nil {
		r.match = anyOf(any)
	}
	return r, nil
}

func (r *sbplRule) modifier(e sexp) error {
	switch {
	case len(e.list) == 2 && e.list[1].atom == "no-report" && !r.allow:
		r.silent = true
	case len(e.list) == 3 && e.list[1].atom == "message" && e.list[2].str && !r.allow:
		r.message = e.list[2].atom
	default:
		return fmt.Errorf("modifier not known")
	}
	return nil
}

func anyOf(fs []func(request) bool) func(request) bool {
	return func(q request) bool {
		return slices.ContainsFunc(fs, func(f func(request) bool) bool { return f(q) })
	}
}

func allOf(fs []func(request) bool) func(request) bool {
	return func(q request) bool {
		return !slices.ContainsFunc(fs, func(f func(request) bool) bool { return !f(q) })
	}
}

func (p *sandboxProfile) filter(e sexp, ops []string) (func(request) bool, error) {
	kind, ok := sbplFilters[e.head()]
	if !ok {
		return nil, fmt.Errorf("unbound variable: %s", e.head())
	}
	if kind.ops != "" {
		for _, op := range ops {
			if !slices.ContainsFunc(strings.Fields(kind.ops), func(prefix string) bool { return strings.HasPrefix(op, prefix) }) {
				return nil, fmt.Errorf("filter %s does not fit %s", e.head(), op)
			}
		}
	}
	args := e.list[1:]
	if kind.arg == "filters" || kind.arg == "filter" {
		return p.nested(e.head(), args, ops)
	}
	if kind.arg == "address" {
		return addressFilter(e.head(), args)
	}
	if len(args) != 1 || args[0].isList || args[0].str != (kind.arg == "string") {
		return nil, fmt.Errorf("filter %s: argument", e.head())
	}
	arg := args[0].atom
	if kind.arg == "symbol" && !slices.Contains(strings.Fields(sbplConstants[e.head()]), arg) {
		return nil, fmt.Errorf("unbound variable: %s", arg)
	}
	return simpleFilter(e.head(), arg)
}

func (p *sandboxProfile) nested(word string, args []sexp, ops []string) (func(request) bool, error) {
	var fs []func(request) bool
	for _, a := range args {
		f, err := p.filter(a, ops)
		if err != nil {
			return nil, err
		}
		fs = append(fs, f)
	}
	switch {
	case len(fs) == 0:
		return nil, fmt.Errorf("%s: empty", word)
	case word == "require-any":
		return anyOf(fs), nil
	case word == "require-all":
		return allOf(fs), nil
	case len(fs) != 1:
		return nil, fmt.Errorf("require-not: one filter")
	}
	return func(q request) bool { return !fs[0](q) }, nil
}

func simpleFilter(word, arg string) (func(request) bool, error) {
	switch word {
	case "literal":
		return func(q request) bool { return q.path == arg }, nil
	case "subpath":
		if arg != "/" && strings.HasSuffix(arg, "/") {
			return func(request) bool { return false }, nil
		}
		return func(q request) bool { return q.path != "" && within(q.path, arg) }, nil
	case "prefix":
		return func(q request) bool { return strings.HasPrefix(q.path, arg) }, nil
	case "regex":
		re, err := appleRegex(arg)
		if err != nil {
			return nil, err
		}
		return func(q request) bool { return q.path != "" && re.MatchString(q.path) }, nil
	case "vnode-type":
		return func(q request) bool { return q.vnode == arg }, nil
	case "global-name", "sysctl-name":
		return func(q request) bool { return q.name == arg }, nil
	case "global-name-prefix", "sysctl-name-prefix":
		return func(q request) bool { return q.name != "" && strings.HasPrefix(q.name, arg) }, nil
	case "socket-domain":
		return func(q request) bool { return q.domain == arg }, nil
	case "socket-protocol":
		n, err := strconv.Atoi(arg)
		return func(q request) bool { return q.number == n }, err
	case "target":
		return func(q request) bool { return q.target == arg || arg == "same-sandbox" && q.target == "self" }, nil
	case "extension":
		return func(q request) bool { return q.extension == arg }, nil
	}
	return nil, fmt.Errorf("unbound variable: %s", word)
}

// neverRegex is how AppleMatch treats a non-capturing group: it compiles and
// matches nothing.
var neverRegex = regexp.MustCompile(`$.^`)

// appleRegex accepts the part of the dialect that is known to work.
func appleRegex(re string) (*regexp.Regexp, error) {
	switch {
	case strings.Contains(re, "(?:"):
		return neverRegex, nil
	case strings.Contains(re, "(?"):
		return nil, fmt.Errorf("regex flags: %s", re)
	}
	for i := 0; i < len(re); i++ {
		if re[i] != '\\' {
			continue
		}
		i++
		if i < len(re) && (isAlnum(re[i])) {
			return nil, fmt.Errorf("regex escape \\%c is not known: %s", re[i], re)
		}
	}
	return regexp.Compile("(?s)" + re)
}

// addressFilter reads (remote tcp "localhost:PORT") and its kin.
func addressFilter(side string, args []sexp) (func(request) bool, error) {
	if len(args) != 2 || !args[1].str {
		return nil, fmt.Errorf("%s: want a protocol and an address", side)
	}
	proto, addr := args[0].atom, args[1].atom
	if !slices.Contains([]string{"ip", "tcp", "udp"}, proto) {
		return nil, fmt.Errorf("unbound variable: %s", proto)
	}
	host, port, ok := strings.Cut(addr, ":")
	if !ok || host != "*" && host != "localhost" {
		return nil, fmt.Errorf("host must be * or localhost in %q", addr)
	}
	n, err := strconv.Atoi(port)
	if port != "*" && (err != nil || n < 1 || n > 65535) {
		return nil, fmt.Errorf("port in %q", addr)
	}
	return func(q request) bool {
		if q.proto == "" || proto != "ip" && q.proto != proto || port != "*" && q.port != n {
			return false
		}
		switch {
		case side == "remote" && q.op == "network-inbound":
			return true // has no effect there
		case side == "local" && q.op == "network-outbound":
			return true // an unbound source is any address: everything matches
		}
		return host == "*" || q.host == "127.0.0.1" || q.host == "::1"
	}, nil
}

// decide walks from the exact operation up to the default. At each name the
// last filtered rule that matches decides, then the last unfiltered one.
func (p *sandboxProfile) decide(q request) answer {
	for op := q.op; ; op = sbplOps[op].parent {
		if _, ok := sbplOps[op]; !ok {
			panic("no such operation: " + op)
		}
		unfiltered := -1
		for i := len(p.rules) - 1; i >= 0; i-- {
			r := p.rules[i]
			switch {
			case !slices.Contains(r.ops, op):
			case r.match == nil:
				if unfiltered < 0 {
					unfiltered = i
				}
			case r.match(q):
				return p.answerOf(i)
			}
		}
		switch {
		case unfiltered >= 0:
			return p.answerOf(unfiltered)
		case slices.Contains(sbplPreamble, op) || p.pessimist && slices.Contains(sbplPessimist, op):
			return answer{allow: true, rule: -1}
		case op == "default":
			return answer{rule: -1}
		}
	}
}

func (p *sandboxProfile) answerOf(i int) answer {
	r := p.rules[i]
	return answer{allow: r.allow, message: r.message, silent: r.silent, rule: i}
}
