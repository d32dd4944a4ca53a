package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bellwether-compute/bellwether/jobs/field"
	"github.com/bellwether-compute/bellwether/jobs/internal/naming"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Config is the configuration of a [Driver].
type Config struct {
	// Cluster is the cluster's name: 1 to 40 lower-case letters, digits and dashes. The cluster's
	// name is a part of all names in JetStream.
	Cluster string

	// Replicas is the number of servers that store each value, from 1 to 5. The default is 1.
	// Replicas is used only when the streams are created.
	Replicas int

	// HideFor is the time for which a received submission stays hidden. HideFor must be at least
	// 100 ms; the default is 30 s. The receiver must extend a submission well before HideFor has
	// passed. HideFor is a setting of the queue's consumer on the server, so opening the storage
	// with another value changes the setting for all processes.
	HideFor time.Duration

	// CallTimeout is the time limit of each request to the server if the caller's context has no
	// deadline. The default is 5 s. A server that syncs each write to disk answers much faster.
	CallTimeout time.Duration

	// Logger logs when the queue becomes unavailable and when it is available again. If Logger is
	// nil, nothing is logged.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Replicas = cmp.Or(c.Replicas, 1)
	c.HideFor = cmp.Or(c.HideFor, 30*time.Second)
	c.CallTimeout = cmp.Or(c.CallTimeout, 5*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

func (c Config) validate() error {
	return cmp.Or(
		naming.Check("cluster", c.Cluster),
		field.Check(c.Replicas >= 1 && c.Replicas <= 5, "Replicas", c.Replicas, "1 to 5"),
		field.Check(c.HideFor >= 100*time.Millisecond, "HideFor", c.HideFor, "at least 100ms"),
		field.Check(c.CallTimeout >= 0, "CallTimeout", c.CallTimeout, "more than 0"),
	)
}

// Driver keeps a cluster's storage in JetStream. A Driver has no goroutines and need not be closed.
type Driver struct {
	cfg   Config
	nc    *nats.Conn
	js    jetstream.JetStream
	names names

	values jetstream.KeyValue
	bucket jetstream.Stream // stream that contains the values
	chunks jetstream.Stream
	queue  jetstream.Consumer

	direct      bool                  // true if the streams cannot have replicas, so that direct reads are safe
	leaderReads nats.JetStreamContext // older API of the NATS client, which is used only for reads

	limited    bool // true if the account has a storage limit
	maxMessage int  // largest number of bytes of a value or chunk in one message
}

var (
	_ store.Blobs          = (*Driver)(nil)
	_ store.PrefixDeleter  = (*Driver)(nil)
	_ store.RemainsDeleter = (*Driver)(nil)
	_ store.Sizer          = (*Driver)(nil)
	_ store.WriteCounter   = (*Driver)(nil)
	_ store.Queue          = (*Driver)(nil)
)

// Open opens a cluster's storage and creates missing streams. Several processes may call
// Open at once. The caller closes the connection, after the last use of the driver.
func Open(ctx context.Context, nc *nats.Conn, cfg Config) (*Driver, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure JetStream storage: %w", err)
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(cfg.CallTimeout))
	if err != nil {
		return nil, fmt.Errorf("open JetStream storage: %w", err)
	}
	d := &Driver{cfg: cfg, nc: nc, js: js, names: newNames(cfg.Cluster)}
	if err := d.open(ctx); err != nil {
		return nil, fmt.Errorf("open JetStream storage of cluster %s: %w", cfg.Cluster, translate(ctx, err))
	}
	return d, nil
}

func (d *Driver) open(ctx context.Context) (err error) {
	if err := d.connected(ctx); err != nil {
		return err
	}
	d.maxMessage = min(maxMessage, int(d.nc.MaxPayload())-messageOverhead)
	if d.maxMessage < 1 {
		return fmt.Errorf("the server allows messages of %d bytes, want more", d.nc.MaxPayload())
	}
	if d.bucket, err = d.stream(ctx, d.bucketConfig()); err != nil {
		return err
	}
	if d.values, err = d.js.KeyValue(ctx, d.names.bucket); err != nil {
		return err
	}
	if d.chunks, err = d.stream(ctx, d.chunksConfig()); err != nil {
		return err
	}
	tier, err := d.tier(ctx)
	if err != nil {
		return err
	}
	d.limited = tier.Limits.MaxStore > 0
	d.direct = standalone(d.bucket) && standalone(d.chunks)
	if d.leaderReads, err = d.nc.JetStream(nats.MaxWait(d.cfg.CallTimeout)); err != nil {
		return err
	}
	d.queue, err = d.openQueue(ctx)
	return err
}

// Exists reports whether the storage of a cluster exists. Exists creates nothing.
func Exists(ctx context.Context, nc *nats.Conn, cfg Config) (bool, error) {
	cfg = cfg.withDefaults()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(cfg.CallTimeout))
	if err != nil {
		return false, err
	}
	_, err = js.Stream(ctx, newNames(cfg.Cluster).bucketStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	return err == nil, translate(ctx, err)
}

// stream returns a stream without changing its configuration, and creates it if it is missing.
func (d *Driver) stream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	stream, err := d.js.Stream(ctx, cfg.Name)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return stream, err
	}
	stream, err = d.js.CreateStream(ctx, cfg)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process created the stream at the same time
		return d.js.Stream(ctx, cfg.Name)
	}
	return stream, err
}

// streamConfig returns the common configuration of the cluster's streams.
func (d *Driver) streamConfig(name, holds, subjects string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: name, Description: holds + " Bellwether cluster " + d.cfg.Cluster, Subjects: []string{subjects},
		Storage: jetstream.FileStorage, Replicas: d.cfg.Replicas, Discard: jetstream.DiscardNew,
	}
}

// bucketConfig returns the configuration of the stream for values. The stream is a key-value
// bucket, so that NATS tools can read it. Unlike usual buckets, this bucket allows direct reads
// only if it has one replica, because a lagging replica may answer a direct read with an old value.
// The bucket does not allow roll-ups, because a user with permission to write one key could delete
// all other keys with a roll-up.
func (d *Driver) bucketConfig() jetstream.StreamConfig {
	cfg := d.streamConfig(d.names.bucketStream, "values of", d.names.valueSubjects+">")
	cfg.MaxMsgsPerSubject, cfg.DenyDelete, cfg.AllowDirect = 1, true, d.cfg.Replicas == 1
	return cfg
}

func (d *Driver) chunksConfig() jetstream.StreamConfig {
	cfg := d.streamConfig(d.names.chunksStream, "large values of", d.names.chunkSubjects+">")
	cfg.AllowDirect = d.cfg.Replicas == 1
	return cfg
}
