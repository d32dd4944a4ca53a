package bench

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// ScanBlobs is the configuration of the comparison of a scan with a plain download of blobs.
type ScanBlobs struct {
	Cluster cluster.Config // configuration with the storage account of the blobs
	Server  int            // ID of the process that serves the account
	Count   int            // number of blobs
	Size    int            // size of a blob in bytes
}

// ScanBlobsReport compares a scan of blobs with a plain download. Times are in seconds and for all
// blobs.
type ScanBlobsReport struct {
	Count    int      `json:"count"`
	Bytes    int64    `json:"bytes"`
	Download BlobTime `json:"download"`
	Scan     BlobTime `json:"scan"`
	Ratio    float64  `json:"ratio"` // median of the rounds' ratios of the time of the download to the time of the scan
	Bound    float64  `json:"bound"` // ratio if the scan and the server kept all processors busy for the whole scan
}

// BlobTime contains the medians of the times of all rounds.
type BlobTime struct {
	ScanTime
	Server float64 `json:"server_cpu_s"` // processor time of the storage server
}

// scanContainer is the container of the blobs.
const scanContainer = "bench"

// scanBlobs uploads blobs, and downloads and scans them in turns, with one goroutine for each slot.
func (c ScanConfig) scanBlobs(ctx context.Context) (*ScanBlobsReport, error) {
	a, err := c.Blobs.Cluster.OpenAccount()
	if err != nil {
		return nil, err
	}
	defer a.Close()
	client, err := a.Container(scanContainer, account.Retry{Within: time.Minute})
	if err != nil {
		return nil, err
	}
	content, err := c.uploadBlobs(ctx, client)
	if err != nil {
		return nil, err
	}
	want := scanTextByHand(content, c.Between) // the result does not depend on the number of blobs with this content
	scan := func() error {
		got, err := c.scan(cluster.With(ctx, c.Blobs.Cluster), "azblob://"+scanContainer+"/")
		if err != nil {
			return err
		}
		return sameMeasured(got, want)
	}
	var ratios []float64
	var downloads, scans blobTimes
	for round := range c.Rounds {
		c.Progress("download and scan of blobs", uint64(round), uint64(c.Rounds))
		plain, err := downloads.measure(c.Blobs.Server, func() error { return c.downloadBlobs(ctx, client, len(content)) })
		if err != nil {
			return nil, err
		}
		took, err := scans.measure(c.Blobs.Server, scan)
		if err != nil {
			return nil, err
		}
		ratios = append(ratios, plain/took)
	}
	r := &ScanBlobsReport{
		Count: c.Blobs.Count, Bytes: int64(c.Blobs.Count) * int64(len(content)),
		Download: downloads.medians(), Scan: scans.medians(), Ratio: Median(ratios),
	}
	r.Bound = r.Download.Wall / ((r.Scan.CPU + r.Scan.Server) / float64(runtime.GOMAXPROCS(0)))
	return r, nil
}

func blobName(i int) string { return fmt.Sprintf("%04d.csv", i) }

// uploadBlobs creates the container, uploads blobs with the same content, and returns the content.
func (c ScanConfig) uploadBlobs(ctx context.Context, client *container.Client) (content []byte, err error) {
	if _, err := client.Create(ctx, nil); err != nil {
		return nil, err
	}
	for line := range c.lines {
		if content = append(content, line...); len(content)+len(line) > c.Blobs.Size {
			break
		}
	}
	for i := range c.Blobs.Count {
		c.Progress("uploading blobs", uint64(i), uint64(c.Blobs.Count))
		if _, err := client.NewBlockBlobClient(blobName(i)).Upload(ctx, account.NewBody(content), nil); err != nil {
			return nil, err
		}
	}
	return content, nil
}

// downloadBlobs reads all blobs, which have the given size, with one goroutine for each slot.
func (c ScanConfig) downloadBlobs(ctx context.Context, client *container.Client, size int) error {
	var next atomic.Int64
	var group errgroup.Group
	for range c.Slots {
		group.Go(func() error {
			buffer := make([]byte, 1<<20)
			for i := int(next.Add(1)) - 1; i < c.Blobs.Count; i = int(next.Add(1)) - 1 {
				answer, err := client.NewBlobClient(blobName(i)).DownloadStream(ctx, nil)
				if err != nil {
					return err
				}
				n, err := io.CopyBuffer(writerOnly{io.Discard}, answer.Body, buffer)
				answer.Body.Close()
				if err != nil || n != int64(size) {
					return fmt.Errorf("got %d of %d bytes: %w", n, size, err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// writerOnly hides the other methods of a writer, so that io.CopyBuffer uses its buffer.
type writerOnly struct{ io.Writer }

type blobTimes struct {
	scanTimes
	server []float64
}

func (t *blobTimes) measure(server int, do func() error) (wall float64, err error) {
	before, err := cpuOf(server)
	if err != nil {
		return 0, err
	}
	if wall, err = t.scanTimes.measure(do); err != nil {
		return 0, err
	}
	after, err := cpuOf(server)
	t.server = append(t.server, (after - before).Seconds())
	return wall, err
}

func (t *blobTimes) medians() BlobTime { return BlobTime{t.scanTimes.medians(), Median(t.server)} }

func (r *ScanBlobsReport) table(w io.Writer) {
	fmt.Fprintf(w, "\n%d blobs, %s bytes\n\n", r.Count, about(float64(r.Bytes)))
	fmt.Fprintf(w, "\tWALL\tPROCESSOR TIME\tSERVER'S\tBYTES PER SECOND\n")
	for _, line := range []struct {
		name string
		time BlobTime
	}{{"download", r.Download}, {"scan", r.Scan}} {
		fmt.Fprintf(w, "%s\t%.2f s\t%.2f s\t%.2f s\t%s\n", line.name, line.time.Wall, line.time.CPU, line.time.Server, about(float64(r.Bytes)/line.time.Wall))
	}
	fmt.Fprintf(w, "\nspeed of the scan\t%.2f of the download\n", r.Ratio)
	fmt.Fprintf(w, "with all processors busy\t%.2f of the download\n", r.Bound)
}
