package linux

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gosrt/gosrt/policy"
	"github.com/gosrt/gosrt/sandbox/linux/stage"
)

func BenchmarkGuard(b *testing.B) {
	dir := b.TempDir()
	files := policy.Files{{Kind: policy.AllowWrite, Path: dir, Exists: true, Dir: true}}
	for _, p := range []string{"**/*.git/hooks", "**/*.git/config", "**/*.git/modules/**/config", "**/*.git/modules/**/hooks", "**/*.git/worktrees/*/config", "**/.git"} {
		files = append(files, policy.FileRule{Kind: policy.Protect, Path: dir + "/" + p, Pattern: true})
	}
	g, err := NewGuard(GuardConfig{Plan: &policy.Plan{Files: files}})
	if err != nil {
		b.Fatal(err)
	}
	arch, _ := ArchOf(runtime.GOARCH)
	filter, err := NotifyFilter(guardNotify, arch)
	if err != nil {
		b.Fatal(err)
	}
	os.Chdir(dir)
	fds, done := make(chan int), make(chan struct{})
	start := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		fd, err := stage.InstallNotify(filter)
		if err != nil {
			panic(err)
		}
		fds <- fd
		<-start
		b.ResetTimer()
		name := filepath.Base("x")
		for range b.N {
			f, err := unix.Open(name, unix.O_CREAT|unix.O_WRONLY|unix.O_NOFOLLOW, 0o600)
			if err != nil {
				panic(err)
			}
			unix.Close(f)
		}
		b.StopTimer()
	}()
	if err := g.serve(<-fds); err != nil {
		b.Fatal(err)
	}
	close(start)
	<-done
	g.Close()
}
