package policy

import (
	"strings"
)

// Input is everything that a policy is made of. Files are already read; nil is a
// file that is not there.
type Input struct {
	// Managed only tightens, and nothing opens what it denies.
	Managed *Source
	User    *Source
	Project *Source
	// ProjectTrusted says that the user has trusted exactly this Project. False:
	// its grants are listed in Policy.Untrusted and not applied.
	ProjectTrusted bool
	File           *Source // --policy
	Settings       *Source // --settings, srt's JSON
	Flags          Flags
	Vars           Vars
	Cwd            string // absolute; relative flags join it
}

// Load puts the layers together, weakest first: built-in default, presets, user
// file, project file, srt settings, --policy file, flags, managed file. Lists add
// up, single values are replaced. Errors are *PositionError.
func Load(in Input) (Policy, error) {
	layers, err := parseLayers(in)
	if err != nil {
		return Policy{}, err
	}
	if layers.flags, err = in.Flags.document(in.Cwd, in.Vars); err != nil {
		return Policy{}, err
	}
	return layers.merge(in)
}

// layers are the parsed documents of one load. A missing one is empty.
type layers struct {
	managed, user, project, settings, file, flags document
}

func parseLayers(in Input) (layers, error) {
	var l layers
	for _, row := range []struct {
		src   *Source
		layer Layer
		parse func(Source, Vars) (document, error)
		into  *document
	}{
		{in.Managed, LayerManaged, parseTOML, &l.managed},
		{in.User, LayerUser, parseTOML, &l.user},
		{in.Project, LayerProject, parseTOML, &l.project},
		{in.Settings, LayerSettings, parseSettings, &l.settings},
		{in.File, LayerFile, parseTOML, &l.file},
	} {
		if row.src == nil {
			continue
		}
		src := *row.src
		src.Layer = row.layer // who calls it decides what it may, not the caller's field
		doc, err := row.parse(src, in.Vars)
		if err != nil {
			return layers{}, err
		}
		*row.into = doc
	}
	return l, nil
}

func (l layers) merge(in Input) (Policy, error) {
	var untrusted []grant
	if in.Project != nil && !in.ProjectTrusted {
		before, err := l.base(in, l.user)
		if err != nil {
			return Policy{}, err
		}
		before.add(l.user)
		l.project, untrusted = l.project.split(before)
	}
	ordered := []document{l.user, l.project, l.settings, l.file, l.flags}
	p, err := l.base(in, ordered...)
	if err != nil {
		return Policy{}, err
	}
	for _, d := range ordered {
		if d.info.Name != "" {
			p.add(d)
		}
	}
	for _, g := range untrusted {
		p.Untrusted = append(p.Untrusted, g.String())
	}
	return p, l.addManaged(&p)
}

// base is the built-in default, unless a layer dropped it, and the presets that
// the layers name, each once.
func (l layers) base(in Input, ordered ...document) (Policy, error) {
	p := Builtin(in.Vars, in.Cwd)
	if l.settings.closed { // srt's settings say all that is allowed
		p.Filesystem.AllowWrite, p.Notes = nil, nil
	}
	drop, seen := false, map[string]bool{BuiltinName: true}
	var presets []document
	for _, d := range ordered {
		if d.extends != nil && d.info.Layer != LayerFlag { // --preset only adds
			drop = d.dropsBuiltin()
		}
		for _, name := range d.extends {
			if seen[name.Name] {
				continue
			}
			seen[name.Name] = true
			preset, err := parsePreset(name.Name, in.Vars)
			if err != nil {
				return Policy{}, presetFault(err, name)
			}
			presets = append(presets, preset)
		}
	}
	if drop {
		p = Policy{}
	}
	for _, preset := range presets {
		p.add(preset)
	}
	return p, nil
}

// presetFault says where the preset was named, and what it needs.
func presetFault(err error, name EnvRule) error {
	return &PositionError{
		File: name.Origin.Name, Line: name.Origin.Line, Key: "preset " + name.Name, Msg: err.Error(),
	}
}

// addManaged applies the managed file last. A grant in it is an error: it would
// be taken for a rule that holds.
func (l layers) addManaged(p *Policy) error {
	if l.managed.info.Name == "" {
		return nil
	}
	tight, grants := l.managed.split(Policy{})
	if len(grants) > 0 {
		g := grants[0]
		return &PositionError{
			File: l.managed.info.Name, Line: g.origin.Line, Key: g.key,
			Msg: quoteCut(strings.TrimSpace(g.text)) + ": a managed file only tightens; remove this entry",
		}
	}
	p.dropOpened(tight)
	p.add(tight)
	return nil
}
