package policy

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// Vars is what "~" and "$VAR" in a policy stand for.
type Vars struct {
	// Home is the user's home directory, absolute. Empty: "~" is an error.
	Home string
	// Env is the caller's environment, NAME=value; the first of a name counts,
	// as for getenv(3).
	Env []string
}

func (v Vars) lookup(name string) (string, bool) {
	for _, entry := range v.Env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// IsPattern says whether an entry of a path list holds a wildcard, in the
// grammar at the top of glob.go. It looks at the entry as the user wrote it: a
// wildcard in the value of a variable, in the home directory or in the
// directory that a relative entry joins is a plain character.
func IsPattern(text string) bool {
	for name := range strings.SplitSeq(trimTree(text), "/") {
		if wild(name) {
			return true
		}
	}
	return false
}

// trimTree folds the endings that mean "and all beneath it", which every entry
// means anyway: "dir/", "dir/**" and "dir/**/" are "dir".
func trimTree(text string) string {
	for {
		cut := strings.TrimRight(text, "/")
		switch {
		case cut == "" && text != "":
			return "/"
		case cut == "**":
			return "."
		case strings.HasSuffix(cut, "/**"):
			text = strings.TrimSuffix(cut, "**")
		default:
			return cut
		}
	}
}

// escapable are the characters that a backslash may take the meaning from.
const escapable = `*?[]\~$!^-`

// expandPath makes a PathRule of one entry. Base is absolute; relative entries
// join it. ".." stays where it is: what it means depends on links, and Compile
// follows them as the kernel does.
func expandPath(text, base string, v Vars) (PathRule, error) {
	if strings.TrimSpace(text) == "" {
		return PathRule{}, errors.New("an empty entry")
	}
	if strings.ContainsRune(text, 0) {
		return PathRule{}, errors.New("holds a NUL byte, which no file name can")
	}
	spelled, err := expandVars(trimTree(text), v)
	if err != nil {
		return PathRule{}, err
	}
	if !path.IsAbs(spelled) {
		if !path.IsAbs(base) {
			return PathRule{}, errors.New("a relative path, and there is no directory to join it to; write an absolute path")
		}
		spelled = join(escape(base), spelled)
	}
	names := components(spelled)
	if err := checkNames(names); err != nil {
		return PathRule{}, err
	}
	rule := PathRule{Text: text, Path: "/" + strings.Join(names, "/"), Pattern: IsPattern(text)}
	if !rule.Pattern {
		rule.Path = unescape(rule.Path)
	}
	return rule, nil
}

// expandVars replaces a leading "~" and every "$NAME" and "${NAME}". What it
// inserts is escaped, so the result is in the grammar of patterns.
func expandVars(text string, v Vars) (string, error) {
	var b strings.Builder
	if rest, ok := strings.CutPrefix(text, "~"); ok {
		if err := checkHome(rest, v.Home); err != nil {
			return "", err
		}
		b.WriteString(escape(v.Home))
		text = rest
	}
	for text != "" {
		piece, rest, err := expandNext(text, v)
		if err != nil {
			return "", err
		}
		b.WriteString(piece)
		text = rest
	}
	return b.String(), nil
}

func checkHome(rest, home string) error {
	switch {
	case rest != "" && rest[0] != '/':
		return errors.New(`only "~" itself is known, not another user's home; write \~ for a name that starts with "~"`)
	case !path.IsAbs(home):
		return errors.New(`"~" needs HOME to be set to an absolute path`)
	}
	return nil
}

// expandNext takes one character, escape or variable off the front of text.
func expandNext(text string, v Vars) (piece, rest string, err error) {
	switch text[0] {
	case '\\':
		return expandEscape(text)
	case '$':
		return expandVar(text, v)
	}
	return text[:1], text[1:], nil
}

func expandEscape(text string) (piece, rest string, err error) {
	if len(text) < 2 || !strings.Contains(escapable, text[1:2]) {
		return "", "", errors.New(`a backslash stands before one of * ? [ ] \ ~ $; write \\ for a backslash`)
	}
	if text[1] == '~' || text[1] == '$' { // no meaning to a pattern
		return text[1:2], text[2:], nil
	}
	return text[:2], text[2:], nil
}

func expandVar(text string, v Vars) (piece, rest string, err error) {
	name, rest, err := varName(text[1:])
	if err != nil {
		return "", "", err
	}
	value, ok := v.lookup(name)
	switch {
	case !ok:
		return "", "", fmt.Errorf("the variable %s is not set", name)
	case value == "": // "$DIR/x" would become "/x"
		return "", "", fmt.Errorf("the variable %s is empty", name)
	case strings.ContainsRune(value, 0):
		return "", "", fmt.Errorf("the variable %s holds a NUL byte", name)
	}
	return escape(value), rest, nil
}

// varName reads NAME or {NAME} behind a "$".
func varName(text string) (name, rest string, err error) {
	if inner, ok := strings.CutPrefix(text, "{"); ok {
		name, rest, ok = strings.Cut(inner, "}")
		if !ok || !validEnvName(name) {
			return "", "", errors.New(`"${" without a variable's name and "}"`)
		}
		return name, rest, nil
	}
	n := 0
	for n < len(text) && validEnvName(text[:n+1]) {
		n++
	}
	if n == 0 {
		return "", "", errors.New(`"$" without a variable's name; write \$ for a dollar sign`)
	}
	return text[:n], text[n:], nil
}

// validEnvName says whether name is one that shells can set (POSIX XBD 3.216).
func validEnvName(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || '9' < c) {
			return false
		}
	}
	return name != ""
}

// checkNames refuses what could never match, or would match by a guess.
func checkNames(names []string) error {
	seenWild := false
	for _, name := range names {
		if err := checkClasses(name); err != nil {
			return err
		}
		if name == ".." && seenWild {
			return errors.New(`".." behind a wildcard names no one place`)
		}
		seenWild = seenWild || wild(name)
	}
	return nil
}

func checkClasses(name string) error {
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '\\':
			i++
		case '[':
			in, end := class(name[i:])
			if end == 0 {
				return errors.New(`"[" is not closed; write \[ for the character itself`)
			}
			if !matchesAny(in) {
				return fmt.Errorf("%s can never match", quoteCut(name[i:i+end]))
			}
			i += end - 1
		}
	}
	return nil
}

func matchesAny(in func(rune) bool) bool {
	for r := rune(1); r <= utf8.MaxRune; r++ {
		if r != '/' && in(r) {
			return true
		}
	}
	return false
}
