package podcost

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Annotation is the name of the pod's annotation. The annotation's value is a decimal number of 32
// bits.
const Annotation = "controller.kubernetes.io/pod-deletion-cost"

// Config describes how a worker reaches the Kubernetes API and its own pod.
type Config struct {
	URL       string // URL of the API server
	Account   string // folder with the token and the certificate of the pod's service account; the default is that of Kubernetes
	Pod       string // name of the pod
	Namespace string // namespace of the pod

	Every  time.Duration  // interval between two calls of Cost; 0 means 30 s
	Cost   func() float64 // function that returns the work that would be lost if the worker died now, in seconds
	Logger *slog.Logger
}

const (
	account     = "/var/run/secrets/kubernetes.io/serviceaccount"
	every       = 30 * time.Second
	callTimeout = 10 * time.Second
	maxAnswer   = 1 << 20 // maximum number of bytes that are read from an answer of the API server
)

// Annotator annotates the worker's pod.
type Annotator struct {
	cfg    Config
	pod    string // URL of the pod in the Kubernetes API
	client *http.Client
	told   int64  // last value that was written; -1 if unknown
	last   string // text of the last logged error, or empty
}

// New returns an annotator, or an error if the process is not in a pod or may not annotate its pod.
func New(cfg Config) (*Annotator, error) {
	a, err := newAnnotator(cfg)
	if err != nil {
		return nil, fmt.Errorf("set up the pod's deletion cost: %w", err)
	}
	return a, nil
}

func newAnnotator(cfg Config) (*Annotator, error) {
	cfg.Account = cmp.Or(cfg.Account, account)
	cfg.Every = cmp.Or(cfg.Every, every)
	switch {
	case cfg.URL == "":
		return nil, errors.New("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: want a process in a pod")
	case cfg.Pod == "" || cfg.Namespace == "":
		return nil, errors.New("POD_NAME or POD_NAMESPACE is not set: want the pod's metadata.name and metadata.namespace by the downward API")
	}
	a := &Annotator{cfg: cfg, told: -1, pod: fmt.Sprintf("%s/api/v1/namespaces/%s/pods/%s", cfg.URL, url.PathEscape(cfg.Namespace), url.PathEscape(cfg.Pod))}
	authority, err := os.ReadFile(filepath.Join(cfg.Account, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("%w: want automountServiceAccountToken: true in the pod", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s/ca.crt: want a certificate in PEM", cfg.Account)
	}
	a.client = &http.Client{Timeout: callTimeout, Transport: &http.Transport{ // the client uses no proxy, because the API server is in the cluster
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, MaxIdleConns: 1, IdleConnTimeout: time.Second,
	}}
	return a, nil
}

// Run annotates the pod until ctx is done.
func (a *Annotator) Run(ctx context.Context) {
	defer a.client.CloseIdleConnections()
	tick := time.NewTicker(a.cfg.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if value := valueOf(a.cfg.Cost()); worthTelling(a.told, value) {
			a.tell(ctx, value)
		}
	}
}

// valueOf converts a cost in seconds to the value of the annotation.
func valueOf(seconds float64) int64 { return int64(math.Ceil(min(max(seconds, 0), math.MaxInt32))) }

// worthTelling reports whether the cost has changed so much since the last write that the change
// may decide which pod Kubernetes deletes.
func worthTelling(told, now int64) bool {
	change := max(told-now, now-told)
	return told < 0 || change >= 5 && 4*change >= max(told, now)
}

// tell writes the annotation. It logs an error, unless the last attempt failed with the same error.
func (a *Annotator) tell(ctx context.Context, value int64) {
	err := a.patch(ctx, value)
	switch {
	case ctx.Err() != nil:
	case err == nil:
		a.told, a.last = value, ""
	case err.Error() != a.last:
		a.last = err.Error()
		a.cfg.Logger.Warn("Cannot annotate the pod with the cost of its deletion, retrying", "error", err)
	}
}

// patch writes the annotation. It reads the token file for each write, because Kubernetes replaces
// the file from time to time.
func (a *Annotator) patch(ctx context.Context, value int64) error {
	token, err := os.ReadFile(filepath.Join(a.cfg.Account, "token"))
	if err != nil {
		return fmt.Errorf("read the token of the service account: %w", err)
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{Annotation: strconv.FormatInt(value, 10)}}})
	if err != nil {
		return fmt.Errorf("encode the annotation: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPatch, a.pod, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("patch the pod: %w", err)
	}
	r.Header.Set("Content-Type", "application/merge-patch+json")
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	answer, err := a.client.Do(r)
	if err != nil {
		return fmt.Errorf("patch the pod: %w", err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch {
	case answer.StatusCode == http.StatusForbidden:
		return fmt.Errorf("patch the pod %s in %s: %s: give the pod's service account a Role with the verb patch on pods, as the chart does", a.cfg.Pod, a.cfg.Namespace, answer.Status)
	case answer.StatusCode >= 300:
		var status struct{ Message string }
		_ = json.Unmarshal(data, &status) // without a message, the error contains only the status
		return fmt.Errorf("patch the pod %s in %s: %s %s", a.cfg.Pod, a.cfg.Namespace, answer.Status, status.Message)
	case err != nil:
		return fmt.Errorf("patch the pod: %w", err)
	}
	return nil
}
