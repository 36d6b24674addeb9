package sandbox

import (
	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/linux"
)

// RenderArgv is what would be run for the plan: bwrap with its options. It is
// for people to read; the run passes the options through a descriptor.
func RenderArgv(p *policy.Plan) []string {
	path, err := linux.FindBwrap(p.Bwrap, func(string) bool { return false })
	if err != nil {
		path = "bwrap"
	}
	return append([]string{path}, linux.Argv(p, linux.FeaturesOf(path))...)
}
