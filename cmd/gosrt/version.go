package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set at link time by a release (-X main.version=v1.2.3). Empty: the
// module version that the Go toolchain recorded.
var version string

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:                   "version",
		Short:                 "print the version",
		Args:                  cobra.NoArgs,
		DisableFlagsInUseLine: true,
		Run: func(*cobra.Command, []string) {
			fmt.Fprintf(a.Out, "gosrt %s %s/%s %s\n", buildVersion(), runtime.GOOS, runtime.GOARCH, runtime.Version())
		},
	}
}

func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	return info.Main.Version
}
