package policy

// tomlKeys is every key of a policy file. What is not here is an error.
var tomlKeys = []keyRow{
	{"", "extends", readExtends},
	{"", "bwrap", readSetting(func(p *Policy) *string { return &p.Bwrap }, absoluteFile, neverTight)},

	{"filesystem", "denyRead", readPaths(func(p *Policy) *[]PathRule { return &p.Filesystem.DenyRead })},
	{"filesystem", "allowRead", readPaths(func(p *Policy) *[]PathRule { return &p.Filesystem.AllowRead })},
	{"filesystem", "allowWrite", readPaths(func(p *Policy) *[]PathRule { return &p.Filesystem.AllowWrite })},
	{"filesystem", "denyWrite", readPaths(func(p *Policy) *[]PathRule { return &p.Filesystem.DenyWrite })},
	{"filesystem", "tmp", readWord(func(p *Policy) *TmpMode { return &p.Filesystem.Tmp }, tmpWords, tightAt(TmpPrivate))},
	{"filesystem", "absent", readWord(func(p *Policy) *AbsentMode { return &p.Filesystem.Absent }, absentWords, neverTight)},
	{"filesystem", "writeImpliesRead", readSetting(func(p *Policy) *bool { return &p.Filesystem.WriteImpliesRead }, boolean, tightAt(false))},

	{"network", "allowedDomains", readHosts(func(p *Policy) *[]HostRule { return &p.Network.Allowed }, ParseHostPattern)},
	{"network", "deniedDomains", readHosts(func(p *Policy) *[]HostRule { return &p.Network.Denied }, ParseDeniedPattern)},
	{"network", "deniedDomainReasons", readReasons},
	{"network", "deniedResolvedAddresses", readAddresses},
	{"network", "privateAddresses", readWord(func(p *Policy) *bool { return &p.Network.PrivateDenied }, privateWords, tightAt(true))},
	{"network", "sni", readWord(func(p *Policy) *bool { return &p.Network.SNIIgnored }, sniWords, tightAt(false))},
	{"network", "transparent", readSetting(func(p *Policy) *bool { return &p.Network.NoTransparent }, notBoolean, tightAt(true))},
	{"network", "upstream", readSetting(func(p *Policy) *string { return &p.Network.Upstream }, upstreamURL, neverTight)},
	{"network", "allowUnixSockets", readPaths(func(p *Policy) *[]PathRule { return &p.Network.UnixSockets })},
	{"network", "hostPorts", readHostPorts},
	{"network", "publish", readPublish},
	{"network", "ask", readSetting(func(p *Policy) *bool { return &p.Network.Ask }, boolean, tightAt(false))},
	{"network", "hosts", readHostTable},

	{"env", "mode", readWord(func(p *Policy) *bool { return &p.Env.Minimal }, envWords, tightAt(true))},
	{"env", "pass", readEnvNames(func(p *Policy) *[]EnvRule { return &p.Env.Pass })},
	{"env", "set", readEnvSet},
	{"env", "unset", readEnvNames(func(p *Policy) *[]EnvRule { return &p.Env.Unset })},

	{"report", "reads", readReads},
	{"report", "audit", readAudit},

	{"darwin", "trustd", readSetting(func(p *Policy) *bool { return &p.Darwin.Trustd }, boolean, tightAt(false))},
	{"darwin", "appleEvents", readSetting(func(p *Policy) *bool { return &p.Darwin.AppleEvents }, boolean, tightAt(false))},
	{"darwin", "keychain", readSetting(func(p *Policy) *bool { return &p.Darwin.Keychain }, boolean, tightAt(false))},
	{"darwin", "launchServices", readSetting(func(p *Policy) *bool { return &p.Darwin.LaunchServices }, boolean, tightAt(false))},
	{"darwin", "pty", readSetting(func(p *Policy) *bool { return &p.Darwin.Pty }, boolean, tightAt(false))},
	{"darwin", "machLookup", readMachLookup},
}

// word is one spelling of a setting's value.
type word[T comparable] struct {
	text  string
	value T
}

var (
	tmpWords     = []word[TmpMode]{{"private", TmpPrivate}, {"host", TmpHost}}
	absentWords  = []word[AbsentMode]{{"guard", AbsentGuard}, {"cover", AbsentCover}}
	privateWords = []word[bool]{{"allow", false}, {"deny", true}}
	sniWords     = []word[bool]{{"match", false}, {"ignore", true}}
	envWords     = []word[bool]{{"scrub", false}, {"minimal", true}}
)

// tightAt and neverTight say which value of a setting only tightens.
func tightAt[T comparable](tight T) func(T) bool { return func(value T) bool { return value == tight } }

func neverTight[T any](T) bool { return false }
