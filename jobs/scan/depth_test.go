package scan

import (
	"strings"
	"testing"
)

func TestDepth(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("(", n) + "a == 1" + strings.Repeat(")", n) }
	for source, deep := range map[string]bool{
		nested(maxDepth):                                false,
		nested(maxDepth + 1):                            true,
		nested(300_000):                                 true,
		`a == '\'` + nested(300) + `'`:                  false,
		"a == `\\` or " + nested(300):                   true,
		`a == "` + nested(300) + `"`:                    false,
		strings.Repeat("(a == 1) and ", 300) + "a == 1": false,
	} {
		_, err := parseCondition(source)
		if deep != (err != nil && strings.Contains(err.Error(), "more than 200 brackets")) || !deep && err != nil {
			t.Errorf("%.60s: got %v, too deep is %v", source, err, deep)
		}
	}
}
