package policy

import (
	"strings"
	"testing"
)

// What git 2.39 writes by itself at init, clone, submodule add and branch
// tracking names no program.
const gitsOwnConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
	logallrefupdates = true
	worktree = ../../../sub
	fsmonitor = false
[remote "origin"]
	url = https://example.org/a.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
	remote = origin
	merge = refs/heads/main
[submodule "sub"]
	active = true
	url = /srv/sub
[user]
	email = a@example.org
[extensions]
	worktreeConfig = true
`

func TestGitPrograms(t *testing.T) {
	for _, tt := range []struct{ config, want string }{
		{gitsOwnConfig, ""},
		{"[core]\nfsmonitor = ./evil", "core.fsmonitor"},
		{"[core]\nfsmonitor", ""}, // true: git's own daemon
		{"[CORE] FSMonitor=./evil", "core.fsmonitor"},
		{"[core]\n\tfsmonitor = \\\n./evil", "core.fsmonitor"},
		{"\ufeff[core]\nhooksPath = x", "core.hookspath"},
		{"[core]\n# sshCommand = x\n; pager = y", ""},
		{"[alias]\nst = status\nx = !sh", "alias.x"},
		{"[pager]\nlog = false\nshow = less", "pager.show"},
		{"[filter \"l]fs\"]\nclean = x", "filter.l]fs.clean"},
		{"[filter \"a\\\"b\"]\nSmudge = x", `filter.a"b.smudge`},
		{"[credential \"https://example.org\"]\nhelper = x", "credential.https://example.org.helper"},
		{"[credential]\nhelper = x", "credential.helper"},
		{"[submodule \"s\"]\nupdate = !x", "submodule.s.update"},
		{"[submodule \"s\"]\nupdate = rebase", ""},
		{"[remote \"o\"]\nurl = ext::sh -c x", "remote.o.url"},
		{"[remote.o]\nurl = ext::sh -c x", "remote.o.url"},
		{"[includeIf \"gitdir:/\"]\npath = x", "includeif.gitdir:/.path"},
		{"[http]\nsslVerify = no", "http.sslverify"},
		{"[core]\nhooksPath = a\nhooksPath = b", "core.hookspath"},
	} {
		if got := strings.Join(GitPrograms([]byte(tt.config)), " "); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.config, got, tt.want)
		}
	}
}
