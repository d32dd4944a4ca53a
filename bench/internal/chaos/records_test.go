//go:build unix

package chaos

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
	azureaccount "github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// recordsContainer is the container that the job scan reads. It is made before the faults begin.
const recordsContainer = "records"

// recordsPerObject is the number of records of each of the four objects in the container.
const recordsPerObject = 20_000

func (c *cluster) putRecords() error {
	account, err := azureaccount.Open(azureaccount.Config{ConnectionString: c.azurite.server.ConnectionString()})
	if err != nil {
		return err
	}
	defer account.Close()
	container, err := account.Container(recordsContainer, azureaccount.Retry{Within: time.Second})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, startWithin)
	defer cancel()
	if _, err := container.Create(ctx, nil); err != nil {
		return fmt.Errorf("make container %s: %w", recordsContainer, err)
	}
	for i := range 4 {
		name, content := fmt.Sprintf("%d.csv", i), records(i)
		if i == 3 {
			var compressed bytes.Buffer
			w := gzip.NewWriter(&compressed)
			_, _ = w.Write(content) // a write to a buffer does not fail
			_ = w.Close()
			name, content = name+".gz", compressed.Bytes()
		}
		if _, err := container.NewBlockBlobClient(name).Upload(ctx, azureaccount.NewBody(content), nil); err != nil {
			return fmt.Errorf("upload %s: %w", name, err)
		}
	}
	return nil
}

// records returns the content of an object. Some records have quotes and line ends in a field.
func records(object int) []byte {
	var b bytes.Buffer
	b.WriteString("host,status,text\n")
	for i := range recordsPerObject {
		text := "plain"
		if i%100 == object {
			text = "\"two\nlines, and a \"\"quote\"\"\""
		}
		fmt.Fprintf(&b, "host %d,%d,%s\n", i%17, 200+i%7*50, text)
	}
	return b.Bytes()
}

func scanOp(r *rand.Rand) op {
	return op{
		name: "scan of blobs", job: "scan", want: store.Completed,
		params: []string{
			"input=azblob://" + recordsContainer + "/", fmt.Sprintf("block=%d", 20_000+r.IntN(20_000)),
			fmt.Sprintf("where=status >= %d", 200+50*r.IntN(7)), "by=host", "aggregate=count,sum(status),distinct(text),p90(status)",
		},
		// A partition fails when its object cannot be read for about 6 s, and storage may be unavailable for longer.
		flags: []string{"--max-attempts", "100"},
	}
}
