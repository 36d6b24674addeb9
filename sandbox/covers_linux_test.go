package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gosrt/gosrt/policy"
)

// secretFiles makes files that a pattern hides, more than bwrap is given, and
// one beside them that it does not.
func secretFiles(tb testing.TB, h home, n int) policy.PathRule {
	tb.Helper()
	for i := range n {
		writeFile(tb, filepath.Join(h.work, "secrets", fmt.Sprintf("key-%d", i)))
	}
	writeFile(tb, filepath.Join(h.work, "secrets", "plain"))
	pattern := filepath.Join(h.work, "secrets", "key-*")
	return policy.PathRule{Text: pattern, Path: pattern, Pattern: true}
}

func writeFile(tb testing.TB, path string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("content\n"), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// TestManyCovers: the covers that the supervisor makes hold as bwrap's do.
func TestManyCovers(t *testing.T) {
	h := newHome(t)
	c := h.command(t.Context(), "sh", "-c", `
cat secrets/plain && mv secrets/plain secrets/moved && rm secrets/moved && echo control
cd secrets
for f in key-0 key-299; do
	cat $f; echo x >$f; rm $f; mv $f other; ln $f other; chmod 777 $f; umount $f; umount -l $f
done
ls | wc -l
grep -c ' /null .*key-[0-9]* ro,nosuid,nodev' /proc/self/mountinfo
unshare -Urm umount key-0 || cat key-0 || echo held
`)
	c.Policy.Filesystem.DenyRead = append(c.Policy.Filesystem.DenyRead, secretFiles(t, h, 300))
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"control", "\n300\n300\n", "held"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in the output:\n%s", want, out)
		}
	}
	if n := strings.Count(string(out), "content"); n != 1 { // the control's
		t.Errorf("a hidden file was read:\n%s", out)
	}
	for i := range 300 {
		if data, err := os.ReadFile(filepath.Join(h.work, "secrets", fmt.Sprintf("key-%d", i))); string(data) != "content\n" {
			t.Errorf("key-%d: %q, %v", i, data, err)
		}
	}
}

// TestManyCoversRefused: a file that was swapped for a link between compile and
// mount refuses the run.
func TestManyCoversRefused(t *testing.T) {
	h := newHome(t)
	c := h.command(t.Context(), "echo", "ran")
	c.Policy.Filesystem.DenyRead = append(c.Policy.Filesystem.DenyRead, secretFiles(t, h, 300))
	swapped := filepath.Join(h.work, "secrets", "key-7")
	c.OnPlan = func(*policy.Plan) {
		os.Remove(swapped)
		os.Symlink("plain", swapped)
	}
	out, err := c.CombinedOutput()
	if err == nil || strings.Contains(string(out), "ran") || !strings.Contains(err.Error(), swapped) {
		t.Errorf("got %v\n%s", err, out)
	}
}

// BenchmarkManyCovers is a start with 2000 files hidden by a pattern; its twin
// below hides none.
func BenchmarkManyCovers(b *testing.B) { benchmarkStart(b, 2000) }
func BenchmarkNoCovers(b *testing.B)   { benchmarkStart(b, 0) }

func benchmarkStart(b *testing.B, covers int) {
	base, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	h := home{base, filepath.Join(base, "work")}
	rule := secretFiles(b, h, covers)
	for b.Loop() {
		c := h.command(b.Context(), "true")
		c.Policy.Filesystem.DenyRead = append(c.Policy.Filesystem.DenyRead, rule)
		if err := c.Run(); err != nil {
			b.Fatal(err)
		}
	}
}
