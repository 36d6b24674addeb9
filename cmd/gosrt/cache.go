package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gosrt/gosrt/internal/projectcache"
	"github.com/gosrt/gosrt/sandbox"
)

func newCache(a *app) *cobra.Command {
	list := &cobra.Command{
		Use:                   "list",
		Short:                 "list the projects' caches with their sizes",
		Args:                  cobra.NoArgs,
		DisableFlagsInUseLine: true,
		RunE:                  func(*cobra.Command, []string) error { return a.cacheList() },
	}
	all := false
	clean := &cobra.Command{
		Use:   "clean [--all | DIRECTORY...]",
		Short: "remove the cache of this project, of others, or of all",
		Long: `Remove the private cache of the project that the current directory belongs to,
of the projects at DIRECTORY, or of all. A cache that a running command uses is
left alone. Nothing outside gosrt's own cache directory is touched.`,
		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, dirs []string) error {
			if all && len(dirs) > 0 {
				return misuse{"--all and a directory exclude each other", "gosrt cache clean --all"}
			}
			return a.cacheClean(dirs, all)
		},
	}
	clean.Flags().BoolVar(&all, "all", false, "remove the caches of all projects")
	return newGroup("cache", "list and empty the projects' private caches", list, clean)
}

// cacheStore fails where there is no home directory to keep a cache in.
func cacheStore() (projectcache.Store, error) {
	root := sandbox.CacheRoot(os.Environ())
	if root == "" {
		return projectcache.Store{}, errors.New("no cache directory: neither XDG_CACHE_HOME nor HOME is set")
	}
	return projectcache.Store{Root: filepath.Join(root, "projects")}, nil
}

func (a *app) cacheList() error {
	store, err := cacheStore()
	if err != nil {
		return err
	}
	entries, err := store.List()
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer t.Flush()
	for _, e := range entries {
		u, err := e.Usage()
		if err != nil {
			return err
		}
		fmt.Fprintf(t, "%s\t%s\t  %s\n", byteSize(u.Bytes), u.Used.Format("2006-01-02 15:04"), printable(e.Project))
	}
	return nil
}

func (a *app) cacheClean(dirs []string, all bool) error {
	store, err := cacheStore()
	if err != nil {
		return err
	}
	entries, err := cachesOf(store, dirs, all)
	if err != nil {
		return err
	}
	var failures []error
	for _, e := range entries {
		if err := e.Remove(); err != nil {
			failures = append(failures, fmt.Errorf("cache of %q: %w", e.Project, err))
			continue
		}
		fmt.Fprintf(a.Out, "removed the cache of %s\n", printable(e.Project))
	}
	return errors.Join(failures...)
}

// cachesOf picks the entries to clean. A directory without one is a mistake worth
// a word, except that of a project which simply never ran.
func cachesOf(store projectcache.Store, dirs []string, all bool) ([]projectcache.Entry, error) {
	entries, err := store.List()
	if err != nil || all {
		return entries, err
	}
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	var picked []projectcache.Entry
	for _, dir := range dirs {
		project, err := projectOf(dir)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(entries, func(e projectcache.Entry) bool { return e.Project == project })
		if i < 0 {
			return nil, fmt.Errorf("project %q: has no cache; gosrt cache list names those that do", project)
		}
		picked = append(picked, entries[i])
	}
	return picked, nil
}

// byteSize is a size for people: "1.2 MiB".
func byteSize(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	size, unit := float64(n), 0
	for size >= 1024 && unit < len(units)-1 {
		size, unit = size/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}
