package policy

import (
	_ "embed" // suffixes.txt
	"strings"
)

// suffixes is the public suffix list. golang.org/x/net/publicsuffix holds the
// same list but links net/http, which every start of the stage would pay for; a
// test keeps the two equal.
//
//go:embed suffixes.txt
var suffixes string

// publicSuffix says whether strangers can register names directly below name
// ("com", "co.uk", "github.io"), so that a wildcard on it opens their hosts too.
func publicSuffix(name string) bool {
	if hasSuffixRule("!" + name) {
		return false
	}
	_, parent, _ := strings.Cut(name, ".")
	return hasSuffixRule(name) || hasSuffixRule("*."+name) || hasSuffixRule("*."+parent)
}

func hasSuffixRule(rule string) bool {
	return strings.Contains(suffixes, "\n"+rule+"\n")
}
