package azure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/queueerror"

	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/internal/naming"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// Config is the configuration of a [Driver].
type Config struct {
	// Cluster is the cluster's name: 1 to 40 lower-case letters, digits and single dashes. The name must not
	// end with a dash.
	Cluster string

	// HideFor is the time for which a received submission stays hidden. HideFor must be whole
	// seconds from 1 s to 7 days; the default is 30 s. The receiver must extend a submission well
	// before HideFor has passed.
	HideFor time.Duration

	// PollEvery is the longest time that Receive waits between two requests for a message. The
	// default is 2 s. A shorter time needs more requests; a longer time delays submissions.
	PollEvery time.Duration

	// CallTimeout is the time limit of each call. The default is 10 s. Calls that transfer large
	// values get more time.
	CallTimeout time.Duration

	// Logger logs when the queue becomes unavailable and when it is available again. If Logger is
	// nil, nothing is logged.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.HideFor = cmp.Or(c.HideFor, 30*time.Second)
	c.PollEvery = cmp.Or(c.PollEvery, 2*time.Second)
	c.CallTimeout = cmp.Or(c.CallTimeout, 10*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

func (c Config) validate() error {
	if strings.Contains(c.Cluster, "--") || strings.HasSuffix(c.Cluster, "-") {
		return fmt.Errorf("cluster name %q: Azure allows single dashes only, and no dash at the end", c.Cluster)
	}
	return cmp.Or(
		naming.Check("cluster", c.Cluster),
		field.Check(c.HideFor >= time.Second && c.HideFor <= 7*24*time.Hour && c.HideFor%time.Second == 0, "HideFor", c.HideFor, "whole seconds, 1s to 7 days"),
		field.Check(c.PollEvery >= minPoll, "PollEvery", c.PollEvery, "at least %v", minPoll),
		field.Check(c.CallTimeout >= 0, "CallTimeout", c.CallTimeout, "more than 0"),
	)
}

// Name returns the name of a cluster's container and queue.
func Name(cluster string) string { return "bellwether-" + cluster }

// Driver keeps a cluster's storage in Azure. A Driver has no goroutines and need not be closed.
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

// Open opens a cluster's storage without making a request. [Driver.Check] checks that the storage
// works.
func Open(a *account.Account, cfg Config) (*Driver, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure Azure storage: %w", err)
	}
	d := &Driver{cfg: cfg, name: Name(cfg.Cluster), account: a}
	retry := account.Retry{Within: cfg.CallTimeout}
	var err error
	if d.blobs, err = a.Container(d.name, retry); err == nil {
		retry.Try = cfg.CallTimeout / 2
		d.queue, err = a.Queue(d.name, retry)
	}
	if err != nil {
		return nil, fmt.Errorf("open Azure storage of cluster %s: %w", cfg.Cluster, err)
	}
	return d, nil
}

// Check creates the container and the queue if they are missing. If both exist, Check makes two
// requests. If signing in fails, the error contains a fix.
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

// perMiB is the additional time of a call for each MiB that it transfers.
const perMiB = time.Second

// call sets the time limit of a call that transfers size bytes, and translates the call's error.
func (d *Driver) call(ctx context.Context, size int, do func(context.Context) error) error {
	bound, cancel := context.WithTimeout(ctx, d.timeout(size))
	defer cancel()
	return d.translate(ctx, do(bound))
}

func (d *Driver) timeout(size int) time.Duration {
	return d.cfg.CallTimeout + time.Duration(size>>20)*perMiB
}

// The function translate turns these error codes into ErrNotFound and ErrConflict, unless the
// caller of call handles the code.
var (
	notFound = []bloberror.Code{bloberror.BlobNotFound, bloberror.ContainerNotFound}
	conflict = []bloberror.Code{bloberror.BlobAlreadyExists, bloberror.ConditionNotMet}
)

// translate turns errors of the SDK into errors of package store. If the caller's context
// was cancelled, the returned error is the context's error.
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
	case tooLarge(err):
		return fmt.Errorf("%w: %w", store.ErrTooLarge, d.account.Explain(err))
	default:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, d.account.Explain(err))
	}
}

func tooLarge(err error) bool {
	answer, ok := errors.AsType[*azcore.ResponseError](err)
	return ok && answer.StatusCode == http.StatusRequestEntityTooLarge
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
