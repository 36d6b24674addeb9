package policy

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// maxLinks is how many symbolic links one path may lead through, as in the
// kernel (MAXSYMLINKS, include/linux/namei.h).
const maxLinks = 40

// maxFileName is the longest name of a file (NAME_MAX, include/uapi/linux/limits.h).
const maxFileName = 255

// place is where a spelled path really is.
type place struct {
	// Path has every link followed that could be.
	Path   string
	Exists bool
	Info   FileInfo // of Path, when Exists
	// Links are the symbolic links that were followed, each at its own
	// canonical path, in order.
	Links []string
	// Blind says that Path is a directory that could not be searched: what lies
	// beyond it is unknown.
	Blind bool
	// Loop says that Path is a symbolic link that leads nowhere but to itself.
	Loop bool
}

func (p place) dir() bool { return p.Exists && p.Info.Mode.IsDir() }

// resolver finds places, and asks the host once for each path.
type resolver struct {
	fs   FS
	seen map[string]lstat
	// places are the directories that were resolved, by their spelling: most
	// rules share theirs with others.
	places map[string]place
	// names are listings of directories that many rules name places in: one
	// listing is cheaper than a hundred questions about absent files.
	names map[string]map[string]bool
}

type lstat struct {
	info FileInfo
	err  error
}

func newResolver(f FS) *resolver {
	return &resolver{fs: f, seen: map[string]lstat{}, places: map[string]place{}, names: map[string]map[string]bool{}}
}

// list reads a directory that is not too large, and remembers its names. What
// cannot be listed has no entries here and is asked by name.
func (r *resolver) list(dir string) []DirEntry {
	info, err := r.lstat(dir)
	if err != nil || !info.Mode.IsDir() || info.Size > lookSize {
		return nil
	}
	entries, err := r.fs.ReadDir(dir)
	if err != nil {
		return nil
	}
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		names[e.Name] = true
	}
	r.names[dir] = names
	return entries
}

func (r *resolver) lstat(p string) (FileInfo, error) {
	if got, ok := r.seen[p]; ok {
		return got.info, got.err
	}
	if names, listed := r.names[parent(p)]; listed && !names[p[strings.LastIndexByte(p, '/')+1:]] {
		return FileInfo{}, fs.ErrNotExist
	}
	info, err := r.fs.Lstat(p)
	if err != nil && !absent(err) && !errors.Is(err, fs.ErrPermission) {
		info, err = r.fs.Lstat(p) // a network file system may answer EIO or ESTALE once
	}
	r.seen[p] = lstat{info, err}
	return info, err
}

// absent tells the errors that mean "there is no such file" from those that
// mean "it cannot be known".
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist)
}

// resolve walks an absolute path as the kernel does. It never fails: what cannot
// be followed is described, and each kind of rule decides what that means for it.
func (r *resolver) resolve(p string) place {
	return r.follow(r.directory(parent(p)), p[strings.LastIndexByte(p, '/')+1:])
}

// directory is resolve for what others are named in.
func (r *resolver) directory(p string) place {
	if p == "/" {
		return r.root(nil)
	}
	at, known := r.places[p]
	if !known {
		at = r.resolve(p)
		at.Links = slices.Clip(at.Links) // shared by all that are named in it
		r.places[p] = at
	}
	return at
}

func (r *resolver) root(links []string) place {
	info, _ := r.lstat("/")
	return place{Path: "/", Exists: true, Info: info, Links: links}
}

// follow walks one name down from at, and from a link to where it leads.
func (r *resolver) follow(at place, name string) place {
	todo := []string{name}
	for len(todo) > 0 && !at.Blind && !at.Loop {
		name, todo = todo[0], todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = r.up(at)
			continue
		}
		next := join(at.Path, name)
		if !at.dir() || len(name) > maxFileName { // nothing can be beneath a file, or have such a name
			at.Path, at.Exists, at.Info = next, false, FileInfo{}
			continue
		}
		info, err := r.lstat(next)
		switch {
		case err != nil && absent(err):
			at.Path, at.Exists, at.Info = next, false, FileInfo{}
		case err != nil:
			at.Blind = true
		case info.Mode&fs.ModeSymlink == 0:
			at.Path, at.Info = next, info
		default:
			target, err := r.fs.Readlink(next)
			if len(at.Links) == maxLinks || err != nil || target == "" {
				at.Path, at.Info, at.Loop = next, info, true
				break
			}
			at.Links = append(at.Links, next)
			todo = append(components(target), todo...)
			if path.IsAbs(target) {
				at = r.root(at.Links)
			}
		}
	}
	return at
}

func (r *resolver) up(at place) place {
	up := place{Path: parent(at.Path), Links: at.Links}
	info, err := r.lstat(up.Path)
	up.Exists, up.Info = err == nil, info
	return up
}

// components splits a path, dropping empty names and dots. It keeps "..": past a
// link that is not where folding the text would lead.
func components(p string) []string {
	var names []string
	for name := range strings.SplitSeq(p, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names
}

// join appends a relative path, byte for byte.
func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

func parent(p string) string {
	i := strings.LastIndexByte(p, '/')
	if i <= 0 {
		return "/"
	}
	return p[:i]
}

// within says that p is dir or beneath it.
func within(dir, p string) bool {
	return p == dir || beneath(dir, p)
}

// beneath says that p is strictly below dir.
func beneath(dir, p string) bool {
	if dir == "/" {
		return p != "/"
	}
	return len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir
}

// depth is the number of names in a canonical path; 0 for the root.
func depth(p string) int {
	if p == "/" {
		return 0
	}
	return strings.Count(p, "/")
}
