package dataset

import (
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

func TestBlobNamedTwice(t *testing.T) {
	blob := source.Object{Name: "azblob://c/a b", Size: 1, Tag: "t"}
	for name, ok := range map[string]bool{
		"https://acct.blob.core.windows.net/c/a%20b": false, "http://127.0.0.1:10000/acct/c/a%20b": false, "https://acct.blob.core.windows.net/c/a": true,
	} {
		if err := (listing{blob, {Name: name, Size: 1, Tag: "t"}}).checkSchemes(); (err == nil) != ok {
			t.Errorf("%s: got %v", name, err)
		}
		if err := (listing{blob, {Name: name, Size: 1, Tag: "u"}}).checkSchemes(); err != nil {
			t.Errorf("%s with another tag: %v", name, err)
		}
	}
}
