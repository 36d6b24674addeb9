package shop

import "testing"

func TestTotal(t *testing.T) {
	if got := Total(20, 50); got != 900 {
		t.Errorf("Total(20, 50) = %d, want 900", got)
	}
}
