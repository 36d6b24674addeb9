package sandbox

import "github.com/gosrt/gosrt/policy"

// Backend names what holds a plan: "bubblewrap" or "seatbelt".
func Backend(p *policy.Plan) string {
	if p.OS == "darwin" {
		return "seatbelt"
	}
	return "bubblewrap"
}

// Enforced lists what holds a plan, layer by layer, in stable words. What of it
// is weaker on this host is in p.Weaknesses.
func Enforced(p *policy.Plan) []string {
	if p.OS == "darwin" {
		return []string{"profile", "proxy", "environment"}
	}
	layers := []string{"mounts", "namespaces", "filter", "proxy", "environment"}
	if p.Guard {
		layers = append(layers, "guard")
	}
	if p.Transparent {
		layers = append(layers, "capture")
	}
	return layers
}
