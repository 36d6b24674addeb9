package policy

// emptyInstead are configuration files whose tools stop working when opening them
// is refused, and so are shown empty when a denyRead names them. Tried with a
// cover of each file: npm 11, pip 23, curl 7, ssh 9, docker and aws go on without
// theirs, and need no row.
var emptyInstead = []struct{ path, tool string }{
	{".gitconfig", "git 2.39 ends every command with \"unknown error occurred while reading the configuration files\""},
	{".config/git/config", "git 2.39, as for ~/.gitconfig"},
	{".cargo/config.toml", "cargo ends with \"failed to read configuration file\""},
	{".cargo/config", "cargo, as for config.toml"},
}

// shownEmpty says why a denied file is shown empty; "" when it is refused.
func (b *builder) shownEmpty(p string) string {
	if b.host.Home == "" {
		return ""
	}
	for _, row := range emptyInstead {
		if p == join(b.host.Home, row.path) {
			return row.tool
		}
	}
	return ""
}
