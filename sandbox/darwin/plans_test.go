package darwin

import (
	"strings"

	"github.com/gosrt/gosrt/policy"
)

// planOf builds a plan from lines "kind path", as a policy file would list them.
// A path with a wildcard is a pattern; "?" before the kind says that the path
// does not exist yet, "!" that the rule is final, "=" that it is exact.
func planOf(lines ...string) *policy.Plan {
	p := &policy.Plan{OS: "darwin", HTTPPort: 3128, SOCKSPort: 1080}
	for i, line := range lines {
		kind, path, _ := strings.Cut(line, " ")
		r := policy.FileRule{Path: path, Exists: true, Dir: true}
		for ; strings.ContainsAny(kind[:1], "?!="); kind = kind[1:] {
			switch kind[0] {
			case '?':
				r.Exists, r.Dir = false, false
			case '!':
				r.Final = true
			case '=':
				r.Exact = true
			}
		}
		r.Kind = policy.FileKind(kind)
		r.Pattern = isWild(path)
		r.Rule = policy.PathRule{Text: path, Path: path, Pattern: r.Pattern,
			Origin: policy.Origin{Layer: policy.LayerUser, Name: "policy.toml", Line: i + 1}}
		p.Files = append(p.Files, r)
	}
	return p
}

const (
	home = "/Users/ann"
	proj = home + "/proj"
)

// project is the ordinary case: a checkout in the home directory, credentials
// hidden, git's control files protected.
func project() *policy.Plan {
	return planOf(
		"allowWrite "+proj,
		"denyRead "+home+"/.ssh",
		"denyRead "+home+"/.aws",
		"denyRead "+proj+"/**/.env",
		"allowRead "+proj+"/fixtures/.env",
		"protect "+proj+"/.git/hooks",
		"protect "+proj+"/.git/config",
		"?protect "+proj+"/.vscode",
		"?protect "+proj+"/.claude/commands",
		"protect "+proj+"/**/*.git/hooks",
		"=protect "+proj+"/**/.git",
		"denyWrite "+proj+"/vendor",
	)
}

// homeHidden hides a home directory but for a project and a toolchain in it.
func homeHidden() *policy.Plan {
	p := planOf(
		"denyRead "+home,
		"allowRead "+proj,
		"allowRead "+home+"/sdk",
		"denyRead "+proj+"/secret",
		"allowWrite "+proj,
		"!denyRead "+home+"/.local/state/gosrt",
		"!protect "+home+"/.local/state/gosrt",
		"!allowRead "+home+"/.local/state/gosrt/cache",
		"!allowWrite "+home+"/.local/state/gosrt/cache",
	)
	return Prepare(p, Run{TmpDir: "/private/var/folders/zz/gosrt-1", Hidden: "/private/var/folders/zz/gosrt-p"})
}

// services opens everything that has a switch.
func services() *policy.Plan {
	p := planOf("allowWrite "+proj, "denyRead "+home+"/Documents/Käse \"1\"")
	p.Darwin = policy.Darwin{Trustd: true, AppleEvents: true, Keychain: true, LaunchServices: true, Pty: true,
		MachLookup: []string{"com.apple.FSEvents", "org.chromium.*"}}
	p.Network.HostPorts = []policy.PortRule{{Port: 5432}}
	p.Network.Publish = []policy.PublishRule{{Outside: 8080, Inside: 3000}}
	p.Sockets = policy.Files{
		{Kind: policy.Socket, Path: "/private/var/run/docker.sock", Spelled: "/var/run/docker.sock", Exists: true},
		{Kind: policy.Socket, Path: home + "/agents", Exists: true, Dir: true},
		{Kind: policy.Socket, Path: home + "/run/*.sock", Pattern: true},
	}
	return p
}

// patterns is where patterns and literal entries overlap at every depth.
func patterns() *policy.Plan {
	return planOf(
		"allowWrite "+proj,
		"denyRead "+proj+"/**/*.pem",
		"allowRead "+proj+"/certs",
		"allowRead "+proj+"/certs/ca.pem",
		"allowRead "+proj+"/**/pub-*",
		"denyRead "+proj+"/keys",
		"denyRead "+proj+"/keys/pub-old/*.[kp]*",
		"denyWrite "+proj+"/**/lock?/**/[!a-c]*.lock",
		"protect "+proj+"/**/.husky",
	)
}

var goldens = map[string]func() *policy.Plan{
	"zero":        func() *policy.Plan { return &policy.Plan{} },
	"project":     project,
	"home-hidden": homeHidden,
	"services":    services,
	"patterns":    patterns,
	"root-hidden": func() *policy.Plan {
		return planOf("denyRead /", "allowRead /usr", "allowRead /System", "allowRead "+proj, "allowWrite "+proj)
	},
}
