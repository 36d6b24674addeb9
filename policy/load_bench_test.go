package policy

import "testing"

// Loading is part of every start.
func BenchmarkLoad(b *testing.B) {
	in := testInput()
	in.User = source("user", fullTOML)
	for b.Loop() {
		if _, err := Load(in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoadDefault(b *testing.B) {
	for b.Loop() {
		if _, err := Load(testInput()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEnviron(b *testing.B) {
	p, err := Load(testInput())
	if err != nil {
		b.Fatal(err)
	}
	h := Host{Home: "/home/u", CacheDir: "/cache", Env: removedAlways}
	for b.Loop() {
		Environ(p, h, ProxyEnv{HTTPPort: 3128, SOCKSPort: 1080, TmpDir: "/tmp"})
	}
}
