package policyfile

import (
	"slices"
	"testing"

	"github.com/gosrt/gosrt/policy"
)

func TestRevokeAndList(t *testing.T) {
	s := Store{Dir: t.TempDir() + "/state"}
	a := Project{Path: "/src/a/.gosrt.toml", Source: policy.Source{Data: []byte("a")}}
	b := Project{Path: "/src/b/.gosrt.toml", Source: policy.Source{Data: []byte("b")}}
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Fatalf("empty store: %v, %v", list, err)
	}
	if err := s.Revoke(a); err != nil {
		t.Fatalf("revoke of what was never trusted: %v", err)
	}
	for _, p := range []Project{b, a} {
		if err := s.Trust(p); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.List(); err != nil || !slices.Equal(list, []string{a.Path, b.Path}) {
		t.Errorf("list = %v, %v", list, err)
	}
	changed := a
	changed.Source.Data = []byte("changed")
	if err := s.Revoke(changed); err != nil {
		t.Fatal(err)
	}
	if trusted, err := s.Trusted(a); trusted || err != nil {
		t.Errorf("after revoking: trusted %v, %v", trusted, err)
	}
	if trusted, err := s.Trusted(b); !trusted || err != nil {
		t.Errorf("the other one: trusted %v, %v", trusted, err)
	}
}
