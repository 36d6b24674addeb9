package policy

import "strings"

// cacheRow points one tool's cache at the project's private cache directory: a
// build needs a writable one, and what runs inside must not change what a later
// build on the host uses.
type cacheRow struct {
	name string
	dir  string // beneath Host.CacheDir
	// host is where the tool keeps it otherwise, in a form that expandPath reads.
	// When an allowWrite entry covers that place, the user shares it.
	host string
	// domain, when set, limits the row to policies that reach hosts at or below it.
	// Without a network, what the host has downloaded is all there is, and it stays
	// readable where it is.
	domain string
	// viaXDG says that the tool finds its place through XDG_CACHE_HOME, so that the
	// variable matters only when the caller has set it, or the place must stay.
	viaXDG bool
}

var cacheTable = []cacheRow{
	{name: "XDG_CACHE_HOME", dir: "xdg", host: "~/.cache"},
	{name: "GOCACHE", dir: "go-build", host: "~/.cache/go-build"},
	{name: "GOMODCACHE", dir: "go-mod", host: "~/go/pkg/mod", domain: "golang.org"},
	{name: "GOLANGCI_LINT_CACHE", dir: "golangci-lint", host: "~/.cache/golangci-lint", viaXDG: true},
	{name: "STATICCHECK_CACHE", dir: "staticcheck", host: "~/.cache/staticcheck", viaXDG: true},
	{name: "npm_config_cache", dir: "npm", host: "~/.npm"},
	{name: "YARN_CACHE_FOLDER", dir: "yarn", host: "~/.cache/yarn"},
	{name: "YARN_GLOBAL_FOLDER", dir: "yarn-berry", host: "~/.yarn/berry"},
	// pnpm keeps its store there; npm would warn about a variable of its own spelling.
	{name: "PNPM_HOME", dir: "pnpm", host: "~/.local/share/pnpm", domain: "npmjs.org"},
	{name: "COREPACK_HOME", dir: "corepack", host: "~/.cache/node/corepack", domain: "npmjs.org", viaXDG: true},
	{name: "BUN_INSTALL_CACHE_DIR", dir: "bun", host: "~/.bun/install/cache", domain: "npmjs.org"},
	{name: "DENO_DIR", dir: "deno", host: "~/.cache/deno", viaXDG: true},
	{name: "PIP_CACHE_DIR", dir: "pip", host: "~/.cache/pip"},
	{name: "UV_CACHE_DIR", dir: "uv", host: "~/.cache/uv"},
	{name: "POETRY_CACHE_DIR", dir: "poetry", host: "~/.cache/pypoetry", viaXDG: true},
	{name: "PIPENV_CACHE_DIR", dir: "pipenv", host: "~/.cache/pipenv", viaXDG: true},
	{name: "PRE_COMMIT_HOME", dir: "pre-commit", host: "~/.cache/pre-commit", viaXDG: true},
	{name: "CARGO_HOME", dir: "cargo", host: "~/.cargo/registry", domain: "crates.io"},
	{name: "SCCACHE_DIR", dir: "sccache", host: "~/.cache/sccache", viaXDG: true},
	{name: "CCACHE_DIR", dir: "ccache", host: "~/.cache/ccache", viaXDG: true},
	{name: "GRADLE_USER_HOME", dir: "gradle", host: "~/.gradle/caches"},
	{name: "COMPOSER_CACHE_DIR", dir: "composer", host: "~/.cache/composer", viaXDG: true},
	{name: "BUNDLE_USER_CACHE", dir: "bundle", host: "~/.bundle/cache"},
	{name: "NUGET_PACKAGES", dir: "nuget", host: "~/.nuget/packages", domain: "nuget.org"},
	{name: "PUB_CACHE", dir: "pub", host: "~/.pub-cache", domain: "pub.dev"},
	{name: "CP_HOME_DIR", dir: "cocoapods", host: "~/.cocoapods"},
	{name: "HOMEBREW_CACHE", dir: "homebrew", host: "~/.cache/Homebrew", viaXDG: true},
	{name: "PLAYWRIGHT_BROWSERS_PATH", dir: "playwright", host: "~/.cache/ms-playwright", domain: "playwright.dev", viaXDG: true},
	{name: "CYPRESS_CACHE_FOLDER", dir: "cypress", host: "~/.cache/Cypress", domain: "cypress.io", viaXDG: true},
	{name: "HF_HOME", dir: "huggingface", host: "~/.cache/huggingface", domain: "huggingface.co", viaXDG: true},
	{name: "TORCH_HOME", dir: "torch", host: "~/.cache/torch", domain: "pytorch.org", viaXDG: true},
}

const (
	cachePrivate = "this project's private cache"
	cacheShared  = "the host's cache, which allowWrite opens"
	cacheStays   = "what the host has downloaded stays readable"
)

// setCaches points the cache variables at Host.CacheDir. A variable in env.pass
// is left alone, and one whose place on the host the policy lets the command
// write names that place.
func (e *environment) setCaches(p Policy, h Host) {
	if h.CacheDir == "" {
		return
	}
	v := Vars{Home: h.Home, Env: h.Env}
	for _, row := range cacheTable {
		if !e.keep[row.name] {
			e.setCache(row, row.place(e, v), p, h.CacheDir)
		}
	}
}

func (e *environment) setCache(row cacheRow, place string, p Policy, dir string) {
	_, own := e.values[row.name]
	stays := row.domain != "" && !p.Network.reachesBelow(row.domain)
	shared := place != "" && p.Filesystem.opensWriting(place)
	switch {
	case own && (stays || shared):
		// The caller's value says it already.
	case stays && !row.viaXDG, shared && row.homeItself():
		// The tool finds its place by itself.
	case stays && place != "":
		e.set(row.name, place, cacheStays)
	case shared:
		e.set(row.name, place, cacheShared)
	case own || !row.viaXDG || row.domain != "":
		e.set(row.name, join(dir, row.dir), cachePrivate)
	}
}

// homeItself says that the variable names the tool's home, of which the cache is
// one part.
func (row cacheRow) homeItself() bool {
	return row.name == "CARGO_HOME" || row.name == "GRADLE_USER_HOME"
}

// place is where the host keeps the cache; empty when that is unknown.
func (row cacheRow) place(e *environment, v Vars) string {
	if own := e.values[row.name]; strings.HasPrefix(own, "/") {
		return own
	}
	rule, err := expandPath(row.host, "/", v)
	if err != nil {
		return ""
	}
	return rule.Path
}

// opensWriting says whether an allowWrite entry covers place by its spelling.
// It only chooses where a variable points; Compile decides what is writable.
func (f Filesystem) opensWriting(place string) bool {
	for _, rule := range f.AllowWrite {
		if !rule.Pattern && within(rule.Path, place) {
			return true
		}
	}
	return false
}

// reachesBelow says whether some allowedDomains entry opens a host at or below
// domain.
func (n Network) reachesBelow(domain string) bool {
	for _, rule := range n.Allowed {
		host := rule.Pattern.Host
		if rule.Pattern.Any || host == domain || strings.HasSuffix(host, "."+domain) {
			return true
		}
	}
	return false
}
