package linux

import (
	"slices"
	"testing"

	"github.com/gosrt/gosrt/policy"
)

func TestPortsToCapture(t *testing.T) {
	rule := func(port uint16) policy.HostRule {
		return policy.HostRule{Pattern: policy.HostPattern{Host: "x", Port: port}}
	}
	for name, tt := range map[string]struct {
		n    policy.Network
		want []uint16
	}{
		"nothing":   {policy.Network{}, nil},
		"one port":  {policy.Network{Allowed: []policy.HostRule{rule(8443), rule(8443)}}, []uint16{8443}},
		"DNS":       {policy.Network{Allowed: []policy.HostRule{rule(53)}}, nil},
		"any port":  {policy.Network{Allowed: []policy.HostRule{rule(0), rule(25)}}, []uint16{22, 25, 80, 443, 9418}},
		"the asker": {policy.Network{Ask: true}, []uint16{22, 80, 443, 9418}},
	} {
		if got := portsToCapture(tt.n); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
