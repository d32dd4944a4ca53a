package azure_test

import (
	"bytes"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// TestAnswerBeforeTheRequestWasRead checks retries if busy storage refuses a request before it has
// read the body. The SDK then sends the body of the next try while the first body is still being
// sent.
func TestAnswerBeforeTheRequestWasRead(t *testing.T) {
	t.Parallel()
	value := make([]byte, 8<<20)
	_, _ = rand.Read(value) // Read of crypto/rand never returns an error
	var tries atomic.Int32
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) <= 2 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		got, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(got, value) {
			t.Errorf("storage gets %d bytes, %v, want the %d of the value", len(got), err, len(value))
		}
		w.Header().Set("ETag", `"1"`)
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(storage.Close)
	d := open(t, azuritetest.Account(t, account.Config{ConnectionString: azurite.ConnectionString(
		storage.URL+"/"+azurite.AccountName, storage.URL+"/queue/"+azurite.AccountName)}), azure.Config{})
	if _, err := d.Put(t.Context(), "partial/large", value, store.Always); err != nil {
		t.Error(err)
	}
	if n := tries.Load(); n != 3 {
		t.Errorf("%d tries, want 3", n)
	}
}
