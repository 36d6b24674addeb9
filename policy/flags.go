package policy

import (
	"fmt"
	"strings"
)

// Flags are the command line's part of a policy, each list in the order in which
// it was written.
type Flags struct {
	AllowRead, DenyRead, AllowWrite, DenyWrite []string
	AllowDomain, DenyDomain                    []string
	// Env holds NAME, which keeps the caller's variable, or NAME=VALUE.
	Env             []string
	Preset          []string
	AllowUnixSocket []string
	HostPort        []string // PORT
	Publish         []string // PORT, OUTSIDE:INSIDE or auto
	Resolve         []string // NAME=ADDRESS[,ADDRESS…]
	Upstream        string   // as network.upstream; empty: not given
	NoTransparent   bool
	Ask             bool
	Tmp             string // "private" or "host"; empty: not given
}

// flagRow is one flag: which key it stands for.
type flagRow struct {
	flag, section, key string
	values             []string
}

func (f Flags) rows() []flagRow {
	return []flagRow{
		{"--allow-read", "filesystem", "allowRead", f.AllowRead},
		{"--deny-read", "filesystem", "denyRead", f.DenyRead},
		{"--allow-write", "filesystem", "allowWrite", f.AllowWrite},
		{"--deny-write", "filesystem", "denyWrite", f.DenyWrite},
		{"--allow-domain", "network", "allowedDomains", f.AllowDomain},
		{"--deny-domain", "network", "deniedDomains", f.DenyDomain},
		{"--allow-unix-socket", "network", "allowUnixSockets", f.AllowUnixSocket},
		{"--host-port", "network", "hostPorts", f.HostPort},
		{"--publish", "network", "publish", f.Publish},
		{"--preset", "", "extends", f.Preset},
	}
}

// document reads flags through the same keys as files, so that an entry means
// the same in both.
func (f Flags) document(cwd string, v Vars) (document, error) {
	var all document
	for _, row := range f.rows() {
		if len(row.values) > 0 {
			if err := all.readFlag(row, textList(row.values), cwd, v); err != nil {
				return document{}, err
			}
		}
	}
	for _, row := range f.settingRows() {
		if err := all.readFlag(row.flagRow, row.value, cwd, v); err != nil {
			return document{}, err
		}
	}
	if err := all.readEnvFlags(f.Env); err != nil {
		return document{}, err
	}
	if err := all.readResolve(f.Resolve); err != nil {
		return document{}, err
	}
	if !f.empty() {
		all.info = LayerInfo{Layer: LayerFlag, Name: "command line"}
	}
	return all, nil
}

func (f Flags) empty() bool {
	for _, row := range f.rows() {
		if len(row.values) > 0 {
			return false
		}
	}
	return len(f.settingRows()) == 0 && len(f.Env) == 0 && len(f.Resolve) == 0
}

func textList(texts []string) node {
	n := node{kind: nodeList}
	for _, text := range texts {
		n.items = append(n.items, node{kind: nodeText, text: text})
	}
	return n
}

type settingFlag struct {
	flagRow
	value node
}

func (f Flags) settingRows() []settingFlag {
	var rows []settingFlag
	if f.Upstream != "" {
		rows = append(rows, settingFlag{flagRow{flag: "--upstream", section: "network", key: "upstream"}, node{kind: nodeText, text: f.Upstream}})
	}
	if f.Tmp != "" {
		rows = append(rows, settingFlag{flagRow{flag: "--tmp", section: "filesystem", key: "tmp"}, node{kind: nodeText, text: f.Tmp}})
	}
	if f.NoTransparent {
		rows = append(rows, settingFlag{flagRow{flag: "--no-transparent", section: "network", key: "transparent"}, node{kind: nodeBool}})
	}
	if f.Ask {
		rows = append(rows, settingFlag{flagRow{flag: "--ask", section: "network", key: "ask"}, node{kind: nodeBool, flag: true}})
	}
	return rows
}

func (d *document) readFlag(row flagRow, value node, cwd string, v Vars) error {
	src := Source{Layer: LayerFlag, Name: row.flag, Base: cwd}
	r := &reader{src: src, vars: v, path: func(text string) (PathRule, error) { return expandPath(text, cwd, v) }}
	if err := findKey(tomlKeys, row.section, row.key).read(r, "", value); err != nil {
		return err
	}
	d.append(r.doc)
	return nil
}

// append joins what one flag gave to what the flags before it gave.
func (d *document) append(other document) {
	d.policy.add(document{policy: other.policy})
	d.settings = append(d.settings, other.settings...)
	if len(other.extends) > 0 {
		d.extends = append(d.extends, other.extends...)
	}
}

func (d *document) readEnvFlags(values []string) error {
	origin := Origin{Layer: LayerFlag, Name: "--env"}
	for _, text := range values {
		name, value, set := strings.Cut(text, "=")
		switch {
		case !validEnvName(name):
			return flagFault("--env", "%s is not a variable's name; write NAME or NAME=VALUE", quoteCut(name))
		case strings.ContainsRune(value, 0):
			return flagFault("--env", "%s holds a NUL byte, which no variable can", name)
		case set:
			d.policy.Env.Set = append(d.policy.Env.Set, EnvRule{name, value, origin})
		default:
			d.policy.Env.Pass = append(d.policy.Env.Pass, EnvRule{Name: name, Origin: origin})
		}
	}
	return nil
}

func (d *document) readResolve(values []string) error {
	for _, text := range values {
		name, addrs, ok := strings.Cut(text, "=")
		if !ok {
			return flagFault("--resolve", "%s: write NAME=ADDRESS", quoteCut(text))
		}
		entry, msg := newHostEntry(name, strings.Split(addrs, ","))
		if msg != "" {
			return flagFault("--resolve", "%s", msg)
		}
		entry.Origin = Origin{Layer: LayerFlag, Name: "--resolve"}
		d.policy.Network.Hosts = append(d.policy.Network.Hosts, entry)
	}
	return nil
}

func flagFault(flag, format string, args ...any) *PositionError {
	return &PositionError{File: flag, Msg: fmt.Sprintf(format, args...)}
}
