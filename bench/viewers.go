package bench

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/page"
)

// viewers is a group of simulated browsers that show the same job. This process serves the web
// page, so the leader's process only has to answer the page's requests.
type viewers struct {
	stop  func()
	bytes atomic.Uint64 // compressed bytes that the web page has sent to all viewers
	group sync.WaitGroup
	err   chan error // channel for the first error of a viewer; buffered
}

// view starts n viewers of a job. Their maps have different windows, which is the most expensive case, because
// viewers with the same windows share one answer.
func view(where cluster.Config, n int, job string, partitions uint64) (*viewers, error) {
	p, err := page.New(page.Config{Cluster: where, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	server := &http.Server{Handler: p.Handler(), ReadHeaderTimeout: patience}
	v := &viewers{err: make(chan error, 1)}
	v.group.Go(func() { _ = server.Serve(listener) }) // Serve returns when the server is closed
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: n}
	for i := range n {
		one := viewer{
			api: fmt.Sprintf("http://%s/api/v1/", listener.Addr()), client: &http.Client{Transport: transport}, bytes: &v.bytes,
			// The viewer has a browser window of about 1,400 by 900 pixels. The viewer's page shows a map of
			// all partitions, and a detail map of a range of partitions that differs between viewers.
			job: job, windows: fmt.Sprintf("window=0:%d:%d&window=%d:2048:2212", partitions/uint64(1300+i)+1, 1300+i, partitions/uint64(n)*uint64(i)),
		}
		v.group.Go(func() {
			if err := one.look(ctx); err != nil && ctx.Err() == nil {
				select {
				case v.err <- fmt.Errorf("view the page: %w", err):
				default:
				}
			}
		})
	}
	v.stop = func() {
		cancel()
		transport.CloseIdleConnections()
		_ = server.Close()
		v.group.Wait()
		p.Close()
	}
	return v, nil
}

// viewer sends the requests that the script of the web page sends in a browser.
type viewer struct {
	api, job, windows string
	client            *http.Client
	bytes             *atomic.Uint64
}

// look reads the event stream, and requests the maps after each event with the job's figures.
func (v viewer) look(ctx context.Context) error {
	return v.get(ctx, "events?job="+v.job, func(body io.Reader) error {
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if lines.Text() != "event: map" {
				continue
			}
			err := v.get(ctx, "jobs/"+v.job+"/map?"+v.windows, func(body io.Reader) error {
				_, err := io.Copy(io.Discard, body)
				return err
			})
			if err != nil {
				return err
			}
		}
		return lines.Err()
	})
}

func (v viewer) get(ctx context.Context, path string, read func(io.Reader) error) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.api+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept-Encoding", "gzip")
	answer, err := v.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := gzip.NewReader(countingReader{answer.Body, v.bytes})
	if err != nil || answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %w", strings.SplitN(path, "?", 2)[0], answer.Status, err)
	}
	return read(body)
}

type countingReader struct {
	io.Reader
	n *atomic.Uint64
}

func (c countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(uint64(n))
	return n, err
}

// viewerRounds is the number of measurements without viewers, and also the number of measurements
// with viewers. Measurements with and without viewers alternate, so that costs that change with the
// job's progress affect both equally.
const viewerRounds = 4

// measureViewers measures for the given time how much viewers increase the leader's cost.
func (c ScaleConfig) measureViewers(ctx context.Context, asker *client.Client, subjects wire.Subjects, id string, lasts time.Duration, p *ScalePoint) error {
	each := lasts / (2 * viewerRounds)
	cores := func() (float64, error) {
		before, began, err := usageAt(ctx, asker.Conn(), subjects)
		if err != nil {
			return 0, err
		}
		if err := wait(ctx, each); err != nil {
			return 0, err
		}
		after, ended, err := usageAt(ctx, asker.Conn(), subjects)
		return (after.CPU - before.CPU).Seconds() / ended.Sub(began).Seconds(), err
	}
	p.Viewers = c.Viewers
	for range viewerRounds {
		without, err := cores()
		if err != nil {
			return err
		}
		v, err := view(asker.Cluster(), c.Viewers, id, p.Partitions)
		if err != nil {
			return err
		}
		with, err := cores()
		v.stop()
		select {
		case failed := <-v.err:
			return failed
		default:
		}
		if err != nil {
			return err
		}
		p.ViewerCores += (with - without) / viewerRounds
		p.ViewerBytes += float64(v.bytes.Load()) / float64(c.Viewers) / each.Seconds() / viewerRounds
	}
	return nil
}
