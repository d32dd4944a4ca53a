package faults_test

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"
	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/deploy/local/faults"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(azuritetest.StopAfter(m)) }

// proxied returns a container and a queue whose requests go through a proxy that injects faults.
func proxied(t *testing.T) (*faults.Transport, *container.Client, *azqueue.QueueClient) {
	t.Helper()
	server := azuritetest.Server(t)
	transport, err := faults.New(server.QueueURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.Close)
	proxy := func(endpoint string) string {
		handler, err := transport.Handler(endpoint)
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(handler)
		t.Cleanup(s.Close)
		return s.URL + "/" + azurite.AccountName
	}
	a, err := account.Open(account.Config{
		ConnectionString: azurite.ConnectionString(proxy(server.BlobURL()), proxy(server.QueueURL())),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	name := fmt.Sprintf("proxied-%d", time.Now().UnixNano())
	blobs, err := a.Container(name, account.Retry{Within: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blobs.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	queue, err := a.Queue(name, account.Retry{Within: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := queue.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return transport, blobs, queue
}

// TestHandler injects faults into the requests of another process, through a proxy.
func TestHandler(t *testing.T) {
	transport, container, queue := proxied(t)
	create := func(name string) error {
		_, err := container.NewBlockBlobClient(name).UploadBuffer(t.Context(), []byte("0123456789"), &blockblob.UploadBufferOptions{
			AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}},
		})
		return err
	}

	transport.Set(faults.Times(1, faults.Fault{Reset: true}, account.PutBlob))
	if err := create("reset"); err != nil {
		t.Errorf("after a reset: %v", err)
	}
	transport.Set(faults.Times(1, faults.Fault{LoseAnswer: true}, account.PutBlob))
	if err := create("lost"); !bloberror.HasCode(err, bloberror.BlobAlreadyExists) {
		t.Errorf("after a lost answer: %v", err)
	}
	transport.Set(faults.Times(1, faults.Fault{Status: 503, Code: "ServerBusy", RetryAfter: 1}, account.PutBlob))
	begun := time.Now()
	if err := create("busy"); err != nil || time.Since(begun) < time.Second {
		t.Errorf("after Retry-After: %v, in %v", err, time.Since(begun))
	}
	transport.Set(faults.Always(faults.Fault{Status: 412, Code: "ConditionNotMet"}, account.PutBlob))
	if err := create("refused"); !bloberror.HasCode(err, bloberror.ConditionNotMet) {
		t.Errorf("refused: %v", err)
	}
	transport.Set(faults.Times(1, faults.Fault{CutAnswer: true}, account.GetBlob))
	buffer := make([]byte, 10)
	if _, err := container.NewBlobClient("reset").DownloadBuffer(t.Context(), buffer, nil); err != nil || string(buffer) != "0123456789" {
		t.Errorf("the SDK's own way with a cut answer: %q, %v", buffer, err)
	}
	transport.Set(faults.Times(1, faults.Fault{Late: 300 * time.Millisecond}, account.SendMessage))
	begun = time.Now()
	if _, err := queue.EnqueueMessage(t.Context(), "eA==", nil); err != nil || time.Since(begun) < 300*time.Millisecond {
		t.Errorf("late: %v, in %v", err, time.Since(begun))
	}
	// Resets, lost answers and busy replies are retried; refused requests are not.
	if n := transport.Requests(account.PutBlob); n != 7 {
		t.Errorf("%d requests to %s, want 7", n, account.PutBlob)
	}
	if n := transport.Requests(account.Other); n != 0 {
		t.Errorf("%d requests of unknown kind, want 0", n)
	}
}
