package azure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/queueerror"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// Config says which cluster's storage to open, and how.
type Config struct {
	// Cluster is the cluster's name: 1 to 40 lower-case letters, digits and single
	// dashes, the last not a dash.
	Cluster string

	// HideFor is how long a submission stays hidden once received: whole seconds, 1 s
	// to 7 days; 30 s by default. The receiver must extend it well before.
	HideFor time.Duration

	// PollEvery is how long Receive waits at most between two requests for a message;
	// 2 s by default. It is the price of a submission's delay.
	PollEvery time.Duration

	// CallTimeout bounds each call, 10 s by default, and large values have more. A
	// call that takes so long has likely failed.
	CallTimeout time.Duration

	// Logger reports when the queue goes away and comes back; nil for silence.
	Logger *slog.Logger
}

// clusterForm is the part that Azure adds to what wire.NewSubjects checks: names of
// containers and queues have no two dashes in a row and none at the end.
var clusterForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (c Config) withDefaults() (Config, error) {
	if c.HideFor == 0 {
		c.HideFor = 30 * time.Second
	}
	if c.PollEvery == 0 {
		c.PollEvery = 2 * time.Second
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = 10 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case !clusterForm.MatchString(c.Cluster) || len(c.Cluster) > 40:
		return c, fmt.Errorf("cluster name %q: Azure wants 1 to 40 lower-case letters, digits and single dashes, the last not a dash", c.Cluster)
	case c.HideFor < time.Second || c.HideFor > 7*24*time.Hour || c.HideFor%time.Second != 0:
		return c, fmt.Errorf("hide time: want whole seconds, 1 s to 7 days, got %v", c.HideFor)
	case c.PollEvery < minPoll:
		return c, fmt.Errorf("poll interval: want %v at least, got %v", minPoll, c.PollEvery)
	case c.CallTimeout < 0:
		return c, fmt.Errorf("call timeout: want a positive time, got %v", c.CallTimeout)
	}
	return c, nil
}

// Name is what a cluster's container and queue are called.
func Name(cluster string) string { return "bellwether-" + cluster }

// Driver keeps a cluster's storage in Azure. It has no goroutines and needs no
// closing; it lives as long as its account.
type Driver struct {
	cfg     Config
	name    string
	account *account.Account
	blobs   *container.Client
	queue   *azqueue.QueueClient
}

var (
	_ store.Blobs         = (*Driver)(nil)
	_ store.PrefixDeleter = (*Driver)(nil)
	_ store.Queue         = (*Driver)(nil)
)

// Open opens a cluster's storage. It makes no call: see [Driver.Check].
func Open(a *account.Account, cfg Config) (*Driver, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open Azure storage: %w", err)
	}
	d := &Driver{cfg: cfg, name: Name(cfg.Cluster), account: a}
	retry := account.Retry{Within: cfg.CallTimeout}
	if d.blobs, err = a.Container(d.name, retry); err == nil {
		retry.Try = cfg.CallTimeout / 2
		d.queue, err = a.Queue(d.name, retry)
	}
	if err != nil {
		return nil, fmt.Errorf("open Azure storage of cluster %s: %w", cfg.Cluster, err)
	}
	return d, nil
}

// Check creates the container and the queue where they are missing, with two
// requests where they are there. Its error says what is wrong with the way in.
func (d *Driver) Check(ctx context.Context) error {
	err := d.call(ctx, 0, func(ctx context.Context) error {
		_, err := d.blobs.NewBlobClient("check").GetProperties(ctx, nil)
		if bloberror.HasCode(err, bloberror.ContainerNotFound) {
			return d.createContainer(ctx)
		}
		if bloberror.HasCode(err, bloberror.BlobNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("check container %s: %w", d.name, err)
	}
	err = d.call(ctx, 0, func(ctx context.Context) error {
		_, err := d.queue.GetProperties(ctx, nil)
		if queueerror.HasCode(err, queueerror.QueueNotFound) {
			return d.createQueue(ctx)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("check queue %s: %w", d.name, err)
	}
	return nil
}

func (d *Driver) createContainer(ctx context.Context) error {
	_, err := d.blobs.Create(ctx, nil)
	if err == nil || bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {
		return nil
	}
	return d.mayNotCreate("container", err)
}

func (d *Driver) createQueue(ctx context.Context) error {
	_, err := d.queue.Create(ctx, nil)
	if err == nil || queueerror.HasCode(err, queueerror.QueueAlreadyExists) {
		return nil
	}
	return d.mayNotCreate("queue", err)
}

func (d *Driver) mayNotCreate(what string, err error) error {
	err = d.account.Explain(err)
	if errors.Is(err, account.ErrDenied) {
		return fmt.Errorf("create %s %s (or let somebody create it who may): %w", what, d.name, err)
	}
	return fmt.Errorf("create %s %s: %w", what, d.name, err)
}

// perMiB is how much longer a call may take for each MiB that it moves.
const perMiB = time.Second

// call bounds a call that moves so many bytes, and translates its error.
func (d *Driver) call(ctx context.Context, size int, do func(context.Context) error) error {
	bound, cancel := context.WithTimeout(ctx, d.timeout(size))
	defer cancel()
	return d.translate(ctx, do(bound))
}

func (d *Driver) timeout(size int) time.Duration {
	return d.cfg.CallTimeout + time.Duration(size>>20)*perMiB
}

// What error codes mean, where a caller has not seen to it.
var (
	notFound = []bloberror.Code{bloberror.BlobNotFound, bloberror.ContainerNotFound}
	conflict = []bloberror.Code{bloberror.BlobAlreadyExists, bloberror.ConditionNotMet}
)

// translate turns the errors of the SDK into those of package store. Where the
// caller gave up, the error says so and nothing about storage.
func (d *Driver) translate(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrUnavailable):
		return err
	case bloberror.HasCode(err, notFound...):
		return fmt.Errorf("%w: %w", store.ErrNotFound, d.account.Explain(err))
	case bloberror.HasCode(err, conflict...):
		return fmt.Errorf("%w: %w", store.ErrConflict, d.account.Explain(err))
	default:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, d.account.Explain(err))
	}
}

func checkKey(key string) error {
	if !store.ValidKey(key) {
		return fmt.Errorf("key %q is not valid", key)
	}
	return nil
}

func checkPrefix(prefix string) error {
	key, ok := strings.CutSuffix(prefix, "/")
	if !ok {
		return fmt.Errorf("prefix %q does not end in a slash", prefix)
	}
	return checkKey(key)
}
