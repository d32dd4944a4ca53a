package dataset

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/azure"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/web"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// stalling is a server that sends half of each requested range, and then sends nothing for the
// first stalls requests.
type stalling struct {
	content string
	stalls  atomic.Int64
}

func (s *stalling) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var from, to int
	header := r.Header.Get("x-ms-range") + r.Header.Get("Range")
	if _, err := fmt.Sscanf(header, "bytes=%d-%d", &from, &to); err != nil {
		http.Error(w, header, http.StatusBadRequest)
		return
	}
	part := s.content[from : to+1]
	w.Header().Set("ETag", `"1"`)
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(s.content)))
	w.Header().Set("Content-Length", fmt.Sprint(len(part)))
	w.WriteHeader(http.StatusPartialContent)
	half := 0
	if s.stalls.Add(-1) >= 0 {
		half = len(part) / 2
		_, _ = io.WriteString(w, part[:half])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // the client ends the request
		return
	}
	_, _ = io.WriteString(w, part)
}

// TestStalledServer checks that a read continues after a server has stopped sending in the middle of
// a response, and that the read fails if the server never sends anything again.
func TestStalledServer(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, url string) (source.Reader, string){
		"web": func(t *testing.T, url string) (source.Reader, string) {
			client := &http.Client{Transport: &http.Transport{}}
			t.Cleanup(client.CloseIdleConnections)
			return web.New(client), url + "/a.csv"
		},
		"azure": func(t *testing.T, url string) (source.Reader, string) {
			a, err := account.Open(account.Config{ConnectionString: "AccountName=a;AccountKey=c2VjcmV0;BlobEndpoint=" + url + "/a;QueueEndpoint=" + url + "/q"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(a.Close)
			return azure.New(a, azure.Scheme, anyContainer), azure.Scheme + "c/a.csv"
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stalling{content: strings.Repeat("0123456789", 1000)}
			server := httptest.NewServer(s)
			t.Cleanup(server.Close)
			driver, object := open(t, server.URL)
			o := source.Object{Name: object, Size: int64(len(s.content)), Tag: `"1"`}
			s.stalls.Store(2)
			r := reader{source: driver, pause: 1, idle: 200 * time.Millisecond}
			got, err := io.ReadAll(r.open(t.Context(), o, 0, o.Size))
			if err != nil || string(got) != s.content {
				t.Errorf("after two stalls: got %d bytes, %v, want %d bytes", len(got), err, len(s.content))
			}
			s.stalls.Store(1 << 40)
			r.idle = time.Millisecond
			_, err = io.ReadAll(r.open(t.Context(), o, 0, 1))
			if !errors.Is(err, source.ErrUnavailable) || !strings.Contains(err.Error(), object) || !strings.Contains(err.Error(), "stopped sending") {
				t.Errorf("server that always stalls: got %v, want ErrUnavailable, the name and the reason", err)
			}
		})
	}
}

func anyContainer(string) error { return nil }
