package stage

import "testing"

func TestStageWithoutCommandIsRefused(t *testing.T) {
	for _, data := range []string{"", "{", "{}", `{"Argv":[]}`, `{"Argv":7}`} {
		if _, err := Decode([]byte(data)); err == nil {
			t.Errorf("%q: accepted", data)
		}
	}
}
