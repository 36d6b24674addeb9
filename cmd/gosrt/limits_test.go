package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// limitsTable is README's list, from the table that gosrt limits computes from.
func limitsTable() string {
	var b strings.Builder
	for _, l := range limits {
		fmt.Fprintf(&b, "- `%s`: %s.\n", l.ID, l.Text)
	}
	b.WriteString("\nWhat depends on host and policy:\n\n")
	for _, l := range hostLimits {
		fmt.Fprintf(&b, "- `%s`: %s.\n", l.ID, l.Text)
	}
	return b.String()
}

var weaknessID = regexp.MustCompile(`(?:Weakness\{\s*ID:\s*|add\([^\n]*?, |weak\([^\n]*?, )"([a-z]+(?:-[a-z]+)+)"`)

// TestEveryWeaknessIsListed: an identifier that the code may report is one that
// README explains, and the other way round.
func TestEveryWeaknessIsListed(t *testing.T) {
	var used []string
	for _, pattern := range []string{"policy/weaknesses.go", "policy/sockets.go", "sandbox/*.go", "sandbox/darwin/*.go"} {
		files, _ := filepath.Glob("../../" + pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil || strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, m := range weaknessID.FindAllSubmatch(text, -1) {
				used = append(used, string(m[1]))
			}
		}
	}
	var listed []string
	for _, l := range hostLimits {
		listed = append(listed, l.ID)
	}
	slices.Sort(used)
	slices.Sort(listed)
	if used = slices.Compact(used); !slices.Equal(used, listed) {
		t.Errorf("the code uses\n%q, hostLimits has\n%q", used, listed)
	}
}

func TestLimitIDsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range slices.Concat(limits, hostLimits) {
		if seen[l.ID] || l.Text == "" || strings.HasSuffix(l.Text, ".") {
			t.Errorf("%q: twice, or its text is not a clause", l.ID)
		}
		seen[l.ID] = true
	}
}
