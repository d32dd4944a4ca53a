package failover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/bellwether-compute/bellwether/bench/peers/processes"
)

// etcdElection runs three candidates that use the election recipe of etcd's client, each with a
// session, and one server that is not killed. The next leader learns of the death of the previous
// leader when the previous leader's session expires.
//
// The shortest lease that a server grants is one and a half times its election timeout, in whole
// seconds, which is 2 s by default. This benchmark uses half of the default election timeout, so
// that a session of 1 s is possible. The tuning guide recommends an election timeout of at least
// ten round trips, and round trips on one machine are short.
// https://etcd.io/docs/latest/tuning/
// https://pkg.go.dev/go.etcd.io/etcd/client/v3/concurrency
func etcdElection(seconds int) System {
	return System{
		Name:     fmt.Sprintf("etcd, session of %d s", seconds),
		Versions: moduleVersions("go.etcd.io/etcd/server/v3"),
		Settings: fmt.Sprintf("concurrency.Election, session TTL %d s; one server, synced; tick %v, election timeout %v", seconds, etcdTick, etcdTimeout),
		Period:   time.Duration(seconds) * time.Second / 3, // interval at which the client renews the session
		start: func(ctx context.Context, p Place) (cluster, error) {
			server, endpoint, err := startEtcd(ctx, p.Dir)
			if err != nil {
				return nil, err
			}
			configs := make([]any, candidates)
			for i := range configs {
				configs[i] = etcdCandidate{endpoint, seconds}
			}
			return startParty(ctx, etcdRole, configs, func() error { server.Stop(); return nil })
		},
	}
}

const (
	etcdRole       = "etcd-candidate"
	etcdServerRole = "etcd-server"

	etcdTick     = 100 * time.Millisecond
	etcdTimeout  = 500 * time.Millisecond
	etcdPatience = 20 * time.Second
)

type etcdServer struct {
	Dir    string `json:"dir"`
	Client int    `json:"client_port"`
	Peer   int    `json:"peer_port"`
}

func startEtcd(ctx context.Context, dir string) (*processes.Group, string, error) {
	var config etcdServer
	var err error
	config.Dir = filepath.Join(dir, "etcd")
	if config.Client, err = processes.FreePort(); err != nil {
		return nil, "", err
	}
	if config.Peer, err = processes.FreePort(); err != nil {
		return nil, "", err
	}
	ready, ended := make(chan struct{}, 1), make(chan error, 1)
	server, err := processes.Start(processes.Config{
		Role: etcdServerRole, Config: config,
		Heard: func(string, []byte) { ready <- struct{}{} },
		Ended: func(err error) { ended <- err },
	}, 1)
	if err != nil {
		return nil, "", err
	}
	select {
	case <-ready:
		return server, net.JoinHostPort("127.0.0.1", strconv.Itoa(config.Client)), nil
	case err = <-ended:
	case <-ctx.Done():
		err = ctx.Err()
	}
	server.Stop()
	return nil, "", err
}

func beEtcdServer(ctx context.Context, s etcdServer, tell func(any)) error {
	at := func(port int) []url.URL {
		return []url.URL{{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}}
	}
	cfg := embed.NewConfig()
	cfg.Dir = s.Dir
	cfg.TickMs, cfg.ElectionMs = uint(etcdTick.Milliseconds()), uint(etcdTimeout.Milliseconds())
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = at(s.Client), at(s.Client)
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = at(s.Peer), at(s.Peer)
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer e.Close()
	select {
	case <-e.Server.ReadyNotify():
	case err := <-e.Err():
		return fmt.Errorf("start etcd: %w", err)
	case <-time.After(etcdPatience):
		return errors.New("start etcd: it is not ready in time")
	}
	tell(told{Stands: true})
	select {
	case err := <-e.Err():
		return fmt.Errorf("run etcd: %w", err)
	case <-ctx.Done():
		return nil
	}
}

type etcdCandidate struct {
	Endpoint string `json:"endpoint"`
	TTL      int    `json:"ttl_s"`
}

func beEtcdCandidate(ctx context.Context, c etcdCandidate, tell func(any)) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{c.Endpoint}, DialTimeout: etcdPatience, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("connect to etcd: %w", err)
	}
	defer func() { _ = client.Close() }()
	for ctx.Err() == nil {
		if err := c.stand(ctx, client, tell); err != nil && ctx.Err() == nil && !errors.Is(err, errExpired) {
			return err
		}
	}
	return nil
}

// errExpired is the error if a session expires, which can happen on a busy machine. The candidate
// then campaigns again with a new session.
var errExpired = errors.New("the session has expired")

// stand campaigns and leads until the session of the candidate ends.
func (c etcdCandidate) stand(ctx context.Context, client *clientv3.Client, tell func(any)) error {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(c.TTL), concurrency.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-session.Done():
			cancel(errExpired)
		case <-ctx.Done():
		}
	}()
	err = c.lead(ctx, client, session, tell)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (c etcdCandidate) lead(ctx context.Context, client *clientv3.Client, session *concurrency.Session, tell func(any)) error {
	granted, err := client.TimeToLive(ctx, session.Lease())
	if err != nil {
		return fmt.Errorf("ask for the session's TTL: %w", err)
	}
	if granted.TTL < 0 {
		return errExpired
	}
	if granted.GrantedTTL != int64(c.TTL) {
		return fmt.Errorf("etcd granted a session of %d s, not of %d", granted.GrantedTTL, c.TTL)
	}
	tell(told{Stands: true})
	election := concurrency.NewElection(session, "/leader")
	if err := election.Campaign(ctx, "candidate"); err != nil {
		return fmt.Errorf("campaign: %w", err)
	}
	written, err := client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(election.Key()), "=", election.Rev())).
		Then(clientv3.OpPut("/act", election.Key())).Commit()
	if err != nil {
		return fmt.Errorf("act: %w", err)
	}
	if !written.Succeeded {
		return errExpired
	}
	tell(told{Leads: true})
	<-ctx.Done()
	return nil
}
