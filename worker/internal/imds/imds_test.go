package imds_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/worker/internal/imds"
)

// TestEvents decodes answers of the metadata service, and of other servers at its address.
func TestEvents(t *testing.T) {
	answer := http.StatusOK
	body := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(answer)
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	client := imds.New(server.URL)
	defer client.Close()
	for _, c := range []struct {
		status int
		body   string
		events int
		wrong  string
	}{
		{200, `{"DocumentIncarnation":2,"Events":[]}`, 0, ""},
		{200, `{"DocumentIncarnation":2,"Events":[{"EventId":"1","EventType":"Preempt","Resources":["a"],"EventStatus":"Started","NotBefore":""}]}`, 1, ""},
		{200, `<html>`, 0, "decode scheduled events"},
		{410, ``, 0, "it answers 410 Gone"},
		{500, ``, 0, "it answers 500"},
	} {
		answer, body = c.status, c.body
		events, err := client.Events(t.Context())
		if len(events) != c.events || (c.wrong == "") != (err == nil) || err != nil && !strings.Contains(fmt.Sprint(err), c.wrong) {
			t.Errorf("%d %s: got %v, %v", c.status, c.body, events, err)
		}
	}
}
