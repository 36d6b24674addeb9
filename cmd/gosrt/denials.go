package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/gosrt/gosrt/internal/report"
	"github.com/gosrt/gosrt/policy"
)

// maxSummary bounds the lines of a summary, unless --verbose asks for all.
const maxSummary = 12

// denials prints what was refused, each with what opens it. A hint that several
// need is given once.
func (a *app) denials(log *report.Log, advise adviser) {
	list, _, distinct := log.List()
	hinted := map[string]bool{}
	lines := 0
	for i, v := range list {
		if lines+3 > maxSummary && !a.ui.verbose {
			a.ui.linef(kindDenied, "and %d more; --verbose lists them", distinct-uint64(i))
			return
		}
		a.ui.linef(kindDenied, "%s", denialLine(v, advise.home))
		lines++
		if hint := advise.hint(v); hint != "" && !hinted[hint] {
			hinted[hint] = true
			a.ui.linef(kindHint, "%s", hint)
			lines++
		}
	}
	if kept := uint64(len(list)); distinct > kept {
		a.ui.linef(kindDenied, "and %d earlier ones, not kept", distinct-kept)
	}
}

// denialLine is "write ~/.zshrc (node, 3 times): protected path".
func denialLine(v policy.Violation, home string) string {
	var about []string
	if v.Program != "" {
		about = append(about, report.Cut(v.Program, maxTarget))
	}
	if v.Count > 1 {
		about = append(about, fmt.Sprintf("%d times", v.Count))
	}
	line := v.Kind + " " + report.Cut(tilde(v.Target, home), maxTarget)
	if len(about) > 0 {
		line += " (" + strings.Join(about, ", ") + ")"
	}
	line += ": " + v.Reason
	if v.Rule != "" {
		line += " (" + v.Rule + originSuffix(v.Origin) + ")"
	}
	return line
}

func originSuffix(origin string) string {
	if origin == "" {
		return ""
	}
	return ", " + origin
}

// tilde spells a path as a user would.
func tilde(path, home string) string {
	if rest, ok := strings.CutPrefix(path, home+"/"); ok && home != "" && home != "/" {
		return "~/" + rest
	}
	return path
}

// exists says whether there is anything at path, a dangling link included.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
