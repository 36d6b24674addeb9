package policy

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// publicSuffix says whether strangers can register names directly below name
// ("com", "co.uk", "github.io"), so that a wildcard on it opens their hosts too.
// The name above a wildcard rule of the list ("*.ck") counts as well; a private
// single label ("corp") does not.
func publicSuffix(name string) bool {
	return listed(name) || listed("x."+name)
}

func listed(name string) bool {
	suffix, icann := publicsuffix.PublicSuffix(name)
	return suffix == name && (icann || strings.Contains(suffix, "."))
}
