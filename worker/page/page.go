package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
)

// Config is the configuration of a [Page].
type Config struct {
	// Cluster is the cluster to show. The page connects to the cluster at the first request.
	Cluster cluster.Config

	// Program is the name of the program in the commands that the page shows; the default is
	// "bellwether".
	Program string

	// Hosts are further host names in the page's address that browsers may use. IP addresses,
	// localhost, the host's own name and names without a dot are always allowed. Other names are
	// refused to prevent DNS rebinding: scripts of another web site whose name resolves to this
	// address could read this page.
	Hosts []string

	// Token is a secret of at least 16 bytes: a client that sends it may perform actions, such as
	// cancelling a job. If Token is empty, the page is read-only.
	Token string

	// Jobs are the jobs of the program. A retry from the page keeps what a failed job has done, unless its definition among
	// them does not allow that.
	Jobs []jobs.Job

	// Logger logs each action; the default is [slog.Default].
	Logger *slog.Logger
}

const minToken = 16 // minimum length in bytes

func (c Config) withDefaults() Config {
	c.Program = cmp.Or(c.Program, "bellwether")
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

func (c Config) validate() error {
	if c.Token != "" && len(c.Token) < minToken {
		return fmt.Errorf("Token of %d bytes: want at least %d: %w", len(c.Token), minToken, cluster.ErrConfig)
	}
	return nil
}

// Page serves the page and its API.
type Page struct {
	cfg     Config
	host    string
	assets  assets
	viewers chan struct{} // channel that contains one value for each connected viewer

	live     memo[clusterNow]
	maps     memo[mapAnswer]
	lives    memo[samplesAnswer]
	jobs     memo[client.Page]
	journals memo[journalAnswer]
	terms    memo[termsAnswer]
	output   memo[throughputAnswer]
	poisoned memo[poisonedAnswer]

	running sync.WaitGroup // number of running requests

	server  *http.Server // nil until Serve is called
	serving sync.WaitGroup

	mu     sync.Mutex
	client *client.Client // client of the cluster; nil until the first request
	closed bool
}

// New returns a page. The caller must close the returned page.
func New(cfg Config) (*Page, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure page: %w", err)
	}
	var err error
	if cfg.Cluster, err = cfg.Cluster.Resolve(); err != nil {
		return nil, err
	}
	p := &Page{cfg: cfg, viewers: make(chan struct{}, maxViewers)}
	p.host, _ = os.Hostname() // after an error the host's name is not an allowed name of the page
	if p.assets, err = newAssets(cfg); err != nil {
		return nil, err
	}
	return p, nil
}

// Serve listens on an address and serves a handler of which the page is a part, or the page alone if
// the handler is nil, until Close is called. It returns the address, whose port the system has chosen if
// that was 0. After an error the page is closed.
func (p *Page) Serve(address string, handler http.Handler) (net.Addr, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		p.Close()
		return nil, err
	}
	if handler == nil {
		handler = p.Handler()
	}
	p.server = newServer(handler)
	p.serving.Go(func() {
		if err := p.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.cfg.Logger.Error("Stopped serving HTTP", "error", err)
		}
	})
	return listener.Addr(), nil
}

// Close stops the server of Serve, drops its requests, and closes the connection to the cluster. A
// caller that serves Handler with another server must close that server first.
func (p *Page) Close() {
	if p.server != nil {
		_ = p.server.Close() // Close drops requests in flight
		p.serving.Wait()
	}
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.running.Wait()
	if p.client != nil {
		p.client.Close()
	}
}

// Handler serves the page at / and its API under /api/v1/.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.assets.serve("page.html"))
	mux.HandleFunc("GET /page/{name}", func(w http.ResponseWriter, r *http.Request) { p.assets.serve(r.PathValue("name"))(w, r) })
	get := func(path string, answer func(context.Context, *client.Client, *http.Request) (any, error)) {
		mux.HandleFunc("GET /api/v1/"+path, p.answer(answer))
	}
	get("cluster", p.getCluster)
	get("workers", p.getWorkers)
	get("terms", p.getTerms)
	get("throughput", p.getThroughput)
	get("jobs", p.getJobs)
	get("poisoned", p.getPoisoned)
	get("jobs/{id}", p.getJob)
	get("jobs/{id}/map", p.getMap)
	get("jobs/{id}/samples", p.getSamples)
	get("jobs/{id}/events", p.getJournal)
	mux.HandleFunc("GET /api/v1/events", p.serveEvents)
	mux.HandleFunc("GET /api/v1/save", p.serveSaved)
	mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, http.StatusNotFound, "the API has no such path: see the documentation of package page")
	})
	p.handleActions(mux)
	return p.Guard(mux)
}

// enter counts a request as running. enter refuses the request if the page is closed.
func (p *Page) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.running.Add(1)
	}
	return !p.closed
}

// connect returns the client for the cluster. The first call of connect connects to the cluster.
// connect creates a new connection if the last NATS connection was closed.
func (p *Page) connect(ctx context.Context) (*client.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.client != nil && !p.client.Conn().IsClosed():
		return p.client, nil
	case p.client != nil:
		p.client.Close()
		p.client = nil
	}
	c, err := client.Connect(ctx, client.Config{Cluster: p.cfg.Cluster, Name: p.cfg.Program + " page", Timeout: storageTimeout})
	if err != nil {
		return nil, err
	}
	p.client = c
	return c, nil
}
