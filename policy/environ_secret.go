package policy

import (
	"slices"
	"strings"
)

// Names and values that look like secrets. Names are cut into words at "_" and
// "-" and compared in any case, so that KEYBOARD, PWD and MONKEY stay.

// secretWords make a secret of a name wherever they stand in it.
var secretWords = []string{
	"PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "SECRET", "SECRETS", "CREDENTIAL", "CREDENTIALS", "CREDS",
	"APIKEY", "ACCESSKEY", "SECRETKEY", "PRIVATEKEY", "AUTHTOKEN", "BEARER", "JWT", "COOKIE", "PRIVKEY",
}

// secretEndings make a secret of a name when they are its last word.
var secretEndings = []string{"TOKEN", "TOKENS", "KEY", "KEYS", "PASS", "PAT", "AUTH", "DSN", "SAS", "OTP", "PIN", "PASSCODE"}

// secretTails make a secret of a name that ends with them, also inside a word (GHTOKEN).
var secretTails = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "_PWD", "_CONNECTION_STRING", "_CONN_STR", "_WEBHOOK", "_WEBHOOK_URL"}

// plainTails are what names end with that are no secrets although the last
// word says so.
var plainTails = []string{
	"PUBLIC_KEY", "PUB_KEY", "PUBKEY", "CACHE_KEY", "PRIMARY_KEY", "FOREIGN_KEY", "SORT_KEY", "PARTITION_KEY",
	"HOST_KEY_CHECKING", "COMPOSE_KEY", "GPG_KEY_ID", "OLD_PWD",
}

// LooksSecret says whether a variable's name or value looks like a secret's.
func LooksSecret(name, value string) bool { return secretReason(name, value) != "" }

// secretReason says why a name or value looks like a secret; "" when it does not.
func secretReason(name, value string) string {
	if value == "" {
		return ""
	}
	if secretName(name) && !countOrSwitch(name, value) {
		return "the name looks like a secret's"
	}
	if secretValue(value) {
		return "the value looks like a secret"
	}
	return ""
}

func secretName(name string) bool {
	upper := strings.ToUpper(name)
	endsWith := func(tail string) bool { return strings.HasSuffix(upper, tail) }
	if slices.ContainsFunc(plainTails, endsWith) {
		return false
	}
	words := nameWords(upper)
	for _, word := range words {
		if slices.Contains(secretWords, word) {
			return true
		}
	}
	last := ""
	if len(words) > 0 {
		last = words[len(words)-1]
	}
	return slices.Contains(secretEndings, last) && len(words) > 1 ||
		slices.ContainsFunc(secretTails, endsWith)
}

// countWords mark a name as a setting about tokens and keys.
var countWords = []string{"TOKENS", "KEYS", "MAX", "MIN", "NUM", "LIMIT", "COUNT", "SIZE", "LENGTH", "TTL", "TIMEOUT", "VERSION"}

// countOrSwitch finds settings about secrets that are none (MAX_TOKENS=4096,
// USE_AUTH=true). A password may well be a number.
func countOrSwitch(name, value string) bool {
	upper := strings.ToUpper(name)
	if strings.Contains(upper, "PASS") || strings.Contains(upper, "PWD") {
		return false
	}
	switch strings.ToLower(value) {
	case "true", "false", "yes", "no", "on", "off", "none", "0", "1":
		return true
	}
	counts := slices.ContainsFunc(nameWords(upper), func(word string) bool { return slices.Contains(countWords, word) })
	return counts && strings.Trim(value, "0123456789") == ""
}

func nameWords(upper string) []string {
	return strings.FieldsFunc(upper, func(r rune) bool { return strings.ContainsRune("_-.:/", r) })
}

// secretShapes are beginnings of known tokens and the length from which a value
// that has one is taken for it.
var secretShapes = []struct {
	prefix string
	length int
}{
	{"ghp_", 36}, {"gho_", 36}, {"ghu_", 36}, {"ghs_", 36}, {"ghr_", 36}, {"github_pat_", 40}, // GitHub
	{"glpat-", 20}, {"gldt-", 20}, // GitLab
	{"sk-", 30}, {"sk_live_", 20}, {"rk_live_", 20}, // model APIs, Stripe
	{"xoxb-", 20}, {"xoxp-", 20}, {"xoxa-", 20}, {"xapp-", 20}, // Slack
	{"AKIA", 20}, {"ASIA", 20}, // AWS
	{"AIza", 35}, {"ya29.", 30}, // Google
	{"npm_", 36}, {"pypi-", 50}, {"hf_", 30}, {"dop_v1_", 40}, {"lin_api_", 30}, {"SG.", 40},
	{"eyJ", 60}, // a JSON web token
}

func secretValue(value string) bool {
	if strings.Contains(value, "PRIVATE KEY-----") || urlPassword(value) {
		return true
	}
	if strings.ContainsAny(value, " /\t\n") {
		return false
	}
	for _, shape := range secretShapes {
		if len(value) >= shape.length && strings.HasPrefix(value, shape.prefix) {
			return true
		}
	}
	return false
}

// urlPassword finds "scheme://user:password@host" anywhere in the value.
func urlPassword(value string) bool {
	for {
		_, rest, found := strings.Cut(value, "://")
		if !found {
			return false
		}
		end := strings.IndexAny(rest, "/?# \t\n")
		if end < 0 {
			end = len(rest)
		}
		if userinfo, _, ok := strings.Cut(rest[:end], "@"); ok {
			if _, password, ok := strings.Cut(userinfo, ":"); ok && password != "" {
				return true
			}
		}
		value = rest
	}
}
