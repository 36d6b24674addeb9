package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gosrt/gosrt/policy"
)

// hostOf gathers the facts of this machine that policy.Compile needs.
func hostOf(env []string, cache string) policy.Host {
	executable, _ := os.Executable()
	home := lookup(env, "HOME")
	return policy.Host{
		OS: runtime.GOOS, Home: home, UID: os.Getuid(), Env: env, FS: osFS{},
		Executable: executable,
		ConfigDir:  ConfigDir(env), StateDir: StateDir(env), CacheRoot: CacheRoot(env), CacheDir: cache,
		Support: support(),
	}
}

// ConfigDir is where the user's policy lives: $XDG_CONFIG_HOME/gosrt or
// ~/.config/gosrt. Empty without a home directory.
func ConfigDir(env []string) string { return xdg(env, "XDG_CONFIG_HOME", ".config") }

// StateDir is where gosrt keeps what it must remember: $XDG_STATE_HOME/gosrt or
// ~/.local/state/gosrt. Empty without a home directory.
func StateDir(env []string) string { return xdg(env, "XDG_STATE_HOME", ".local/state") }

// CacheRoot holds the projects' private caches: $XDG_CACHE_HOME/gosrt or
// ~/.cache/gosrt. Empty without a home directory.
func CacheRoot(env []string) string { return xdg(env, "XDG_CACHE_HOME", ".cache") }

// xdg follows the XDG base directory specification: a relative value is ignored.
func xdg(env []string, name, fallback string) string {
	if dir := lookup(env, name); filepath.IsAbs(dir) {
		return filepath.Join(dir, "gosrt")
	}
	home := lookup(env, "HOME")
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, fallback, "gosrt")
}

// lookup returns the last value of name, which is the one that counts.
func lookup(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}
