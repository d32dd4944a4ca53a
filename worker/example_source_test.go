package worker_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log"
	"log/slog"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/scan"
	"github.com/bellwether-compute/bellwether/worker"
)

// poems is a source of a program: its objects are texts that the program contains.
var poems = source.Source{
	Schemes: []string{"poem://"},
	Help:    "poems of this program: poem://NAME",
	Open:    func(context.Context) (source.Driver, error) { return poemDriver{}, nil },
}

type poemDriver struct{}

const poem = "word,count\nlamb,2\nsnow,1\nwool,4\n"

// List implements source.Lister.
func (poemDriver) List(_ context.Context, pattern string) iter.Seq2[source.Object, error] {
	if pattern != "poem://mary.csv" {
		return source.Fail(fmt.Errorf("%s: %w", pattern, source.ErrNotFound))
	}
	return func(yield func(source.Object, error) bool) {
		yield(source.Object{Name: pattern, Size: int64(len(poem)), Tag: "1"}, nil)
	}
}

// Read implements source.Reader.
func (poemDriver) Read(_ context.Context, _ source.Object, from, to int64) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(poem[from:to])), nil
}

// A program adds a source of objects to the built-in ones. The workers of its cluster then scan
// objects of the source.
func Example_source() {
	url, stopServer := startNATS()
	defer stopServer()
	where := cluster.Config{NATS: cluster.NATS{URL: url}}
	grant := jobs.Grant{Sources: append(dataset.Sources(), poems)}
	job := jobs.MustNew(scan.Definition)

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- worker.Run(ctx, worker.Config{
			Cluster: where, Jobs: []jobs.Job{job}, Grant: grant, Slots: 1, Logger: slog.New(slog.DiscardHandler),
		})
	}()
	c, err := client.Connect(ctx, client.Config{Cluster: where, Grant: grant, Timeout: patience})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	id, err := c.Submit(ctx, job, client.SubmitOptions{Pairs: []string{"input=poem://mary.csv", "aggregate=count,sum(count)"}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Wait(ctx, id); err != nil {
		log.Fatal(err)
	}
	o, err := c.Outcome(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	_, rows, _ := strings.Cut(string(o.Result), `"rows":`)
	fmt.Println(rows[:strings.Index(rows, "]]")+2], o.Err())
	stop()
	fmt.Println("stopped:", <-ended)
	// Output:
	// [[3,"7"]] <nil>
	// stopped: <nil>
}
