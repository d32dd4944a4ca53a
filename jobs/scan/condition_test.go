package scan

import (
	"strings"
	"testing"
)

func TestSyntaxOfConditions(t *testing.T) {
	for source, want := range map[string]string{
		"a = b":                      `values are compared with ==: write "a == b"`,
		"a=5 and host != 'x' or b=7": `write "a==5 and host != 'x' or b==7"`,
		"host = 'x=y'":               `write "host == 'x=y'"`,
		"a = = 5":                    `text is in quotes`,
		"a ==":                       `text is in quotes`,
	} {
		if _, err := parseCondition(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", source, err, want)
		}
	}
	if _, err := parseCondition("host == 'x=y'"); err != nil {
		t.Error(err)
	}
}
