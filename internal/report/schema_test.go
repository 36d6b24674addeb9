package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite docs/report.schema.json")

const schemaFile = "../../docs/report.schema.json"

// TestSchema holds docs/report.schema.json equal to the types that are written.
func TestSchema(t *testing.T) {
	var lines []any
	for _, row := range []struct {
		kind string
		line any
	}{
		{"start", Start{}}, {"violation", Violation{}}, {"decision", Decision{}}, {"exit", Exit{}},
	} {
		s := schemaOf(reflect.TypeOf(row.line))
		s["properties"].(map[string]any)["type"] = map[string]any{"const": row.kind}
		s["properties"].(map[string]any)["v"] = map[string]any{"const": Version}
		lines = append(lines, s)
	}
	want, err := json.MarshalIndent(map[string]any{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "One line of gosrt --report",
		"description": "Fields and types of line are only ever added. A violation with a seq seen before replaces it.",
		"oneOf":       lines,
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(schemaFile); !bytes.Equal(got, want) {
		t.Error("docs/report.schema.json is stale: go test ./internal/report -run TestSchema -update")
	}
}

func schemaOf(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.String:
		return map[string]any{"type": "string"}
	case t.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case t.Kind() == reflect.Struct:
		return schemaOfStruct(t)
	}
	return map[string]any{"type": "integer"}
}

// schemaOfStruct refuses what is not declared here: the test of real lines is to
// find a field that the schema lacks. Readers pass over fields they do not know.
func schemaOfStruct(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" {
			continue
		}
		properties[name] = schemaOf(f.Type)
		if !strings.Contains(options, "omitempty") {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}
