package main

import "strings"

// obeyedNames are files that programs outside the sandbox act on without being
// asked, by name; a trailing "*" stands for any rest, a leading one for any
// beginning. What is protected anyway (.git/hooks, .vscode) is here too: a policy
// can open it.
var obeyedNames = []struct{ name, who string }{
	{"Makefile", "make runs it"}, {"makefile", "make runs it"}, {"GNUmakefile", "make runs it"}, {"*.mk", "make includes it"},
	{"justfile", "just runs it"}, {"Taskfile.yml", "task runs it"}, {"Rakefile", "rake runs it"}, {"CMakeLists.txt", "cmake runs it"},
	{"package.json", "npm runs its scripts"}, {".npmrc", "npm obeys it"}, {".yarnrc.yml", "yarn obeys it"}, {".pnpmfile.cjs", "pnpm runs it"},
	{"setup.py", "pip runs it"}, {"pyproject.toml", "pip obeys it"}, {"conftest.py", "pytest runs it"}, {"noxfile.py", "nox runs it"}, {"tox.ini", "tox obeys it"},
	{"build.rs", "cargo runs it"}, {"Cargo.toml", "cargo obeys it"}, {"go.mod", "go obeys it"}, {"Gemfile", "bundler runs it"},
	{"build.gradle", "gradle runs it"}, {"build.gradle.kts", "gradle runs it"}, {"settings.gradle", "gradle runs it"}, {"gradlew", "people run it"}, {"mvnw", "people run it"}, {"pom.xml", "maven obeys it"},
	{".envrc", "direnv runs it"}, {".tool-versions", "asdf obeys it"}, {"mise.toml", "mise runs it"}, {".mise.toml", "mise runs it"}, {"flake.nix", "nix runs it"}, {"shell.nix", "nix runs it"},
	{"Dockerfile*", "docker build runs it"}, {"docker-compose*", "docker compose runs it"}, {"compose.y*", "docker compose runs it"}, {"Vagrantfile", "vagrant runs it"},
	{".gitlab-ci.yml", "GitLab runs it"}, {"Jenkinsfile", "Jenkins runs it"}, {".travis.yml", "Travis runs it"}, {"azure-pipelines.yml", "Azure runs it"},
	{".pre-commit-config.yaml", "pre-commit runs it"}, {".gitattributes", "git obeys it"}, {".gitmodules", "git obeys it"}, {".mcp.json", "agents start servers from it"},
	{"*.sh", "people run it"}, {"*.code-workspace", "editors obey it"},
}

// obeyedDirs are directories in which every file counts.
var obeyedDirs = []struct{ dir, who string }{
	{".git/hooks/", "git runs it"}, {".github/workflows/", "GitHub runs it"}, {".circleci/", "CircleCI runs it"}, {".buildkite/", "Buildkite runs it"},
	{".husky/", "git runs it"}, {".vscode/", "editors obey it"}, {".idea/", "editors obey it"}, {".devcontainer/", "editors run it"},
	{".cargo/", "cargo obeys it"}, {".claude/", "agents obey it"}, {".cursor/", "agents obey it"},
}

// obeyedBy says who acts on a file at a path relative to the checkout; "" when
// nobody is known to. A configuration of git counts wherever it is.
func obeyedBy(path string) string {
	for _, row := range obeyedDirs {
		if strings.HasPrefix(path, row.dir) || strings.Contains(path, "/"+row.dir) {
			return row.who
		}
	}
	if path == ".git/config" || strings.HasSuffix(path, "/.git/config") {
		return "git obeys it"
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	for _, row := range obeyedNames {
		if fits(row.name, name) {
			return row.who
		}
	}
	return ""
}

func fits(pattern, name string) bool {
	if rest, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, rest)
	}
	if rest, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(name, rest)
	}
	return pattern == name
}
