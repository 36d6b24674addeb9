package report

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Redacted stands where a secret was.
const Redacted = "[redacted]"

// secretForm is one shape in which secrets appear in paths, arguments and
// messages. The expression runs only where one of the markers occurs, compared
// in lower case, because most text holds none of them.
type secretForm struct {
	markers []string
	expr    string
	replace string
}

var secretForms = []secretForm{
	{[]string{"private key"}, `(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`, Redacted},
	{[]string{"://"}, `([A-Za-z][A-Za-z0-9+.-]*://)[^/\s@]*@`, "${1}" + Redacted + "@"},
	{[]string{"?"}, `(://[^\s?#]*|\b[A-Z]{3,7} [^\s?#]*)[?#]\S*`, "${1}?" + Redacted},
	{[]string{"--"}, `(?i)(--[a-z0-9-]*(?:api-?key|token|key|password|passwd|secret)(?:=|\s+))\S+`, "${1}" + Redacted},
	{[]string{"bearer", "basic"}, `(?i)\b(bearer|basic)(\s+)[A-Za-z0-9+/_.=~-]{6,}`, "${1}${2}" + Redacted},
	{[]string{"="}, `(?i)\b([A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY)[A-Z0-9_]*=)[^\s&]+`, "${1}" + Redacted},
	{[]string{`":`, `" :`}, `(?i)("[a-z_-]*(?:api_?key|token|secret|password)"\s*:\s*")[^"]*`, "${1}" + Redacted},
	{[]string{"sk-"}, `\bsk-[A-Za-z0-9_-]{16,}`, Redacted},
	{[]string{"gh"}, `\bgh[posur]_[A-Za-z0-9]{36,}`, Redacted},
	{[]string{"github_pat_"}, `\bgithub_pat_[A-Za-z0-9_]{22,}`, Redacted},
	{[]string{"glpat-"}, `\bglpat-[A-Za-z0-9_-]{20,}`, Redacted},
	{[]string{"npm_"}, `\bnpm_[A-Za-z0-9]{36,}`, Redacted},
	{[]string{"lin_api_"}, `\blin_api_[A-Za-z0-9]{16,}`, Redacted},
	{[]string{"akia", "asia"}, `\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`, Redacted},
	{[]string{"aiza"}, `\bAIza[A-Za-z0-9_-]{35}`, Redacted},
	{[]string{"xox"}, `\bxox[a-z]-[A-Za-z0-9-]{10,}`, Redacted},
	{[]string{"eyj"}, `\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?`, Redacted},
}

// compiled parses the expressions when the first text is redacted: a run
// without a denial never needs them.
var compiled = sync.OnceValue(func() []*regexp.Regexp {
	list := make([]*regexp.Regexp, len(secretForms))
	for i, f := range secretForms {
		list[i] = regexp.MustCompile(f.expr)
	}
	return list
})

// minExact is the length from which a known secret is recognised by its value;
// a shorter one would blacken half of every text.
const minExact = 8

// Redactor removes secrets from text: those it is told of, wherever they occur,
// and whatever has the form of one. The zero Redactor knows only the forms. It
// is best effort, since a secret without a form looks like any other word.
type Redactor struct{ exact func() []string }

// NewRedactor is told of secrets by their value, when it first needs them.
func NewRedactor(secrets func() []string) *Redactor {
	return &Redactor{sync.OnceValue(func() []string {
		long := slices.DeleteFunc(secrets(), func(s string) bool { return len(s) < minExact })
		slices.SortFunc(long, func(a, b string) int { return len(b) - len(a) }) // one may hold another
		return long
	})}
}

func (r *Redactor) known() []string {
	if r.exact == nil {
		return nil
	}
	return r.exact()
}

// Text removes secrets from s.
func (r *Redactor) Text(s string) string {
	for _, secret := range r.known() {
		s = strings.ReplaceAll(s, secret, Redacted)
	}
	lower := strings.ToLower(s)
	for i, f := range secretForms {
		if slices.ContainsFunc(f.markers, func(m string) bool { return strings.Contains(lower, m) }) {
			s = compiled()[i].ReplaceAllString(s, f.replace)
		}
	}
	return s
}

var secretFlag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^--?[a-z0-9-]*(?:api-?key|token|password|passwd|secret)$|^--key$`)
})

// Args removes secrets from an argument list, also the value that follows a flag
// for one.
func (r *Redactor) Args(args []string) []string {
	clean := make([]string, len(args))
	for i, arg := range args {
		if i > 0 && secretFlag().MatchString(args[i-1]) {
			clean[i] = Redacted
			continue
		}
		clean[i] = r.Line(arg)
	}
	return clean
}

// maxLine bounds one text in a report, in bytes.
const maxLine = 1000

// Line is text from inside as it may be shown: without secrets, printable, on
// one line, cut. Secrets go first: what was cut or escaped looks like none.
func (r *Redactor) Line(s string) string { return Cut(Printable(r.Text(s)), maxLine) }
