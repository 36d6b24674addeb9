package policy

import (
	"slices"
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
	// Checkout is the project file at the root of the checkout, when Project lies
	// deeper: a file that a command leaves in a subdirectory must not take the
	// root's denials away. CheckoutTrusted as ProjectTrusted.
	Checkout        *Source
	CheckoutTrusted bool
	File            *Source // --policy
	Settings        *Source // --settings, srt's JSON
	// More are further such files, in the order given; Layer tells which kind.
	More  []Source
	Flags Flags
	Vars  Vars
	Cwd   string // absolute; relative flags join it
}

// Load puts the layers together, weakest first: built-in default, presets, user
// file, checkout's and project's file, srt settings, --policy files, flags,
// managed file. Lists add up, single values are replaced. Errors are
// *PositionError.
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
	managed, user, checkout, project, settings, file, flags document
	more                                                    []document
}

func parseLayers(in Input) (layers, error) {
	var l layers
	for _, row := range []struct {
		src   *Source
		layer Layer
		into  *document
	}{
		{in.Managed, LayerManaged, &l.managed},
		{in.User, LayerUser, &l.user},
		{in.Checkout, LayerProject, &l.checkout},
		{in.Project, LayerProject, &l.project},
		{in.Settings, LayerSettings, &l.settings},
		{in.File, LayerFile, &l.file},
	} {
		if row.src == nil {
			continue
		}
		doc, err := parseLayer(*row.src, row.layer, in.Vars)
		if err != nil {
			return layers{}, err
		}
		*row.into = doc
	}
	for _, src := range in.More {
		layer := LayerFile
		if src.Layer == LayerSettings {
			layer = LayerSettings
		}
		doc, err := parseLayer(src, layer, in.Vars)
		if err != nil {
			return layers{}, err
		}
		l.more = append(l.more, doc)
	}
	return l, nil
}

// parseLayer sets the layer itself: where a file was found decides what it may.
func parseLayer(src Source, layer Layer, v Vars) (document, error) {
	src.Layer = layer
	if layer == LayerSettings {
		return parseSettings(src, v)
	}
	return parseTOML(src, v)
}

func (l layers) merge(in Input) (Policy, error) {
	untrusted, err := l.distrust(in)
	if err != nil {
		return Policy{}, err
	}
	ordered := l.ordered()
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
	if note := cwdNote(p, in.Vars, in.Cwd); note != "" && len(p.Layers) > 0 && p.Layers[0].Layer == LayerBuiltin {
		p.Notes = append(p.Notes, note)
	}
	return p, l.addManaged(&p)
}

func (l layers) ordered() []document {
	ordered := []document{l.user, l.checkout, l.project, l.settings, l.file}
	return append(append(ordered, l.more...), l.flags)
}

// distrust takes the grants out of project files that are not trusted.
func (l *layers) distrust(in Input) ([]grant, error) {
	if in.Project == nil && in.Checkout == nil {
		return nil, nil
	}
	base, err := l.base(in, l.user)
	if err != nil {
		return nil, err
	}
	base.add(l.user)
	var untrusted []grant
	for _, row := range []struct {
		doc     *document
		trusted bool
	}{{&l.checkout, in.CheckoutTrusted}, {&l.project, in.ProjectTrusted}} {
		if row.trusted {
			continue
		}
		tight, grants := row.doc.split(base)
		*row.doc = tight
		untrusted = append(untrusted, grants...)
	}
	return untrusted, nil
}

// base is the built-in default, unless a layer dropped it, and the presets that
// the layers name, each once.
func (l layers) base(in Input, ordered ...document) (Policy, error) {
	p := Builtin(in.Vars, in.Cwd)
	if slices.ContainsFunc(ordered, func(d document) bool { return d.closed }) { // srt's settings say all that is allowed
		p.Filesystem.AllowWrite = nil
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
