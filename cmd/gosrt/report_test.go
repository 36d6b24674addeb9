package main

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// cmdSchema is "schema FILE TYPE...": every line of FILE fits the published
// schema, and the types of line are these, in this order, repetitions once.
func cmdSchema(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: schema file [type...]")
	}
	schema, err := jsonschema.NewCompiler().Compile("../../docs/report.schema.json")
	ts.Check(err)
	var types []string
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		ts.Check(err)
		if err := schema.Validate(value); err != nil {
			ts.Fatalf("%s\n%v", line, err)
		}
		kind := value.(map[string]any)["type"].(string)
		if len(types) == 0 || types[len(types)-1] != kind {
			types = append(types, kind)
		}
	}
	if got, want := strings.Join(types, " "), strings.Join(args[1:], " "); got != want {
		ts.Fatalf("types of line %q, want %q", got, want)
	}
}
