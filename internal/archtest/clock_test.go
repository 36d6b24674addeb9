package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Package policy holds times as values and never asks what time it is.
func TestPolicyHasNoClock(t *testing.T) {
	files, err := filepath.Glob("../../policy/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source of package policy: %v", err)
	}
	values := []string{"Time", "Duration", "Second", "Minute", "Hour", "Millisecond", "RFC3339", "RFC3339Nano"}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, used := range selectorsOf(t, file, "time") {
			if !slices.Contains(values, used) {
				t.Errorf("%s uses time.%s: policy has no clock", file, used)
			}
		}
	}
}

func selectorsOf(t *testing.T, file, pkg string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == pkg {
				names = append(names, sel.Sel.Name)
			}
		}
		return true
	})
	return names
}
