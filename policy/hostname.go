package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Limits of a name in its wire form, RFC 1035 section 2.3.4, less the root label.
const (
	maxName  = 253
	maxLabel = 63
	// maxHostText bounds what is looked at all: a name of maxName code points
	// takes at most four bytes each before IDNA maps it.
	maxHostText = 4 * maxName
)

// idnaProfile maps a name as browsers do for a lookup (UTS 46). Hyphens in the
// third and fourth place stay allowed, because names in use have them, and so
// does "_", which canonicalName judges.
var idnaProfile = idna.New(
	idna.MapForLookup(), idna.BidiRule(), idna.CheckHyphens(false), idna.StrictDomainName(false),
)

// CanonicalHost is the one place where the spelling of a host is settled: what
// it returns is what rules compare, what is resolved and what is dialled.
//
// It returns either a name (lower case, IDNA A-labels, no trailing dot) or an
// address (IPv4 in all the spellings of inet_aton, IPv6 with or without
// brackets, IPv4-mapped IPv6 as IPv4). Whatever two programs could read
// differently is an error: control characters, spaces, "%", "@", zones,
// userinfo, empty and over-long labels, a numeric last label that is no address.
func CanonicalHost(text string) (name string, addr netip.Addr, err error) {
	name, addr, err = canonicalHost(text)
	if err != nil {
		return "", netip.Addr{}, fmt.Errorf("host %s: %w", quoteCut(text), err)
	}
	return name, addr, nil
}

func canonicalHost(text string) (string, netip.Addr, error) {
	if err := plausibleHost(text); err != nil {
		return "", netip.Addr{}, err
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		if !closed || !strings.Contains(inner, ":") {
			return "", netip.Addr{}, errors.New("brackets hold only an IPv6 address")
		}
		text = inner
	}
	if strings.Contains(text, ":") {
		addr, err := canonicalIPv6(text)
		return "", addr, err
	}
	name, err := mapName(text)
	if err != nil {
		return "", netip.Addr{}, err
	}
	// After the mapping: full-width digits and dots become an address here.
	if lastLabelNumeric(name) {
		addr, err := parseIPv4(name)
		return "", addr, err
	}
	return name, netip.Addr{}, checkName(name)
}

// plausibleHost refuses what no later step should see.
func plausibleHost(text string) error {
	switch {
	case text == "":
		return errors.New("empty")
	case len(text) > maxHostText:
		return errors.New("too long")
	case !utf8.ValidString(text):
		return errors.New("not UTF-8")
	}
	for _, r := range text {
		if fault := runeFault(r); fault != "" {
			return errors.New(fault)
		}
	}
	return nil
}

func runeFault(r rune) string {
	switch {
	case r < 0x20 || r == 0x7f:
		return "holds a control character"
	case r == ' ':
		return "holds a space"
	case r == '@':
		return "holds user information"
	case r == '%':
		return `holds "%": no escapes and no IPv6 zones`
	case strings.ContainsRune(`/\?#`, r):
		return fmt.Sprintf("holds %q: a host, not a URL", r)
	}
	return ""
}

func canonicalIPv6(text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return netip.Addr{}, errors.New("not an IPv6 address")
	}
	return addr.Unmap(), nil
}

// mapName turns a name into lower-case ASCII without its root dot.
func mapName(text string) (string, error) {
	name := strings.ToLower(text)
	if !isASCII(name) || strings.Contains(name, "xn--") {
		mapped, err := idnaProfile.ToASCII(name)
		if err != nil {
			return "", errors.New("not a valid internationalised name")
		}
		name = mapped
	}
	name = strings.TrimSuffix(name, ".")
	if name == "" {
		return "", errors.New("empty")
	}
	return name, nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// checkName accepts letters, digits, "-" and "_" in labels of legal length.
func checkName(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("longer than %d characters", maxName)
	}
	for label := range strings.SplitSeq(name, ".") {
		if err := checkLabel(label); err != nil {
			return err
		}
	}
	return nil
}

func checkLabel(label string) error {
	switch {
	case label == "":
		return errors.New("has an empty label")
	case len(label) > maxLabel:
		return fmt.Errorf("has a label longer than %d characters", maxLabel)
	case label[0] == '-' || label[len(label)-1] == '-':
		return errors.New(`has a label that starts or ends with "-"`)
	}
	for _, r := range label {
		if !labelRune(r) {
			return fmt.Errorf("holds %q", r)
		}
	}
	return nil
}

func labelRune(r rune) bool {
	return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '_'
}

// lastLabelNumeric says whether some resolver would read name as an IPv4
// address (the URL standard's "ends in a number").
func lastLabelNumeric(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last != "" && strings.Trim(last, "0123456789") == "" {
		return true
	}
	_, err := parseIPv4Part(last)
	return err == nil
}

// parseIPv4 reads the spellings of inet_aton(3): one to four parts, each
// decimal, octal ("0177") or hexadecimal ("0x7f"), the last one filling the rest.
func parseIPv4(text string) (netip.Addr, error) {
	fault := errors.New("a numeric last label, but not an IPv4 address")
	parts := strings.Split(text, ".")
	if len(parts) > 4 {
		return netip.Addr{}, fault
	}
	var sum uint64
	for i, part := range parts {
		v, err := parseIPv4Part(part)
		width := 8
		if i == len(parts)-1 {
			width = 8 * (4 - i)
		}
		if err != nil || v >= 1<<width {
			return netip.Addr{}, fault
		}
		sum = sum<<width | v
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), nil
}

func parseIPv4Part(part string) (uint64, error) {
	digits, base := part, 10
	if hex, ok := strings.CutPrefix(part, "0x"); ok {
		digits, base = hex, 16
		if digits == "" { // "0x" is 0 for the URL standard
			return 0, nil
		}
	} else if len(part) > 1 && part[0] == '0' {
		digits, base = part[1:], 8
	}
	if strings.ContainsAny(digits, "+-_") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(digits, base, 33)
}

// quoteCut quotes text from outside on one printable line of bounded length.
func quoteCut(text string) string {
	const most = 80
	if len(text) > most {
		return strconv.QuoteToASCII(text[:most]) + "…"
	}
	return strconv.QuoteToASCII(text)
}
