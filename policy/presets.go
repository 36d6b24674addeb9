package policy

import (
	"embed"
	"path"
	"slices"
	"strings"
)

//go:embed presets/*.toml
var presetFiles embed.FS

// PresetNames lists the presets in alphabetical order. "builtin", the default
// policy, is not among them.
func PresetNames() []string {
	entries, err := presetFiles.ReadDir("presets")
	if err != nil {
		panic("BUG(gosrt): presets are not embedded: " + err.Error())
	}
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".toml"))
	}
	slices.Sort(names)
	return names
}

// PresetText returns a preset's TOML as it is embedded; false for a name that
// is no preset.
func PresetText(name string) ([]byte, bool) {
	if !slices.Contains(PresetNames(), name) {
		return nil, false
	}
	text, err := presetFiles.ReadFile(path.Join("presets", name+".toml"))
	return text, err == nil
}

// knownPreset returns an error without a place when name is no preset.
func knownPreset(name string) *PositionError {
	if name == BuiltinName {
		return nil
	}
	if _, ok := PresetText(name); ok {
		return nil
	}
	return &PositionError{
		Msg:        "no preset is called " + quoteCut(name),
		Suggestion: nearest(name, append(PresetNames(), BuiltinName)),
	}
}

func parsePreset(name string, v Vars) (document, error) {
	text, _ := PresetText(name)
	return parseTOML(Source{Layer: LayerPreset, Name: name, Data: text, Base: "/"}, v)
}
