package azure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// Get implements store.Blobs.
func (d *Driver) Get(ctx context.Context, key string) (value []byte, version store.Version, err error) {
	if err := checkKey(key); err != nil {
		return nil, "", err
	}
	bound, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The limit is extended when the response begins, because it depends on the size of the value.
	limit := time.AfterFunc(d.timeout(0), func() { cancel(context.DeadlineExceeded) })
	defer limit.Stop()
	answer, err := d.blobs.NewBlobClient(key).DownloadStream(bound, nil)
	if err != nil {
		return nil, "", d.translate(ctx, withCause(bound, err))
	}
	size := 0
	if answer.ContentLength != nil {
		size = int(*answer.ContentLength)
	}
	limit.Reset(d.timeout(size))
	value, err = readAll(answer.Body, size)
	if err != nil {
		return nil, "", d.translate(ctx, fmt.Errorf("read %d bytes: %w", size, withCause(bound, err)))
	}
	return value, store.Version(*answer.ETag), nil
}

// withCause adds the reason for the end of ctx, if it has ended, to err.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%w (%v)", cause, err)
	}
	return err
}

// readAll reads a body of known size and closes it.
func readAll(body io.ReadCloser, size int) ([]byte, error) {
	value := make([]byte, size)
	_, err := io.ReadFull(body, value)
	if err == nil {
		var more int64
		if more, err = io.Copy(io.Discard, body); more > 0 {
			err = fmt.Errorf("got %d bytes more than Content-Length says", more)
		}
	}
	return value, errors.Join(err, body.Close())
}

// Put implements store.Blobs.
func (d *Driver) Put(ctx context.Context, key string, value []byte, cond store.Condition) (version store.Version, err error) {
	if err := checkKey(key); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	modified, err := conditions(cond)
	if err != nil {
		return "", err
	}
	options := &blockblob.UploadOptions{AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: modified}}
	client := d.blobs.NewBlockBlobClient(key)
	err = d.call(ctx, len(value), func(ctx context.Context) error {
		answer, err := client.Upload(ctx, account.NewBody(value), options)
		if bloberror.HasCode(err, bloberror.ContainerNotFound) {
			if _, must := cond.Version(); must {
				return fmt.Errorf("%w: %w", store.ErrConflict, d.account.Explain(err))
			}
			if err := d.createContainer(ctx); err != nil {
				return err
			}
			answer, err = client.Upload(ctx, account.NewBody(value), options)
		}
		if bloberror.HasCode(err, bloberror.BlobNotFound) { // the condition is IfVersion, but the blob does not exist
			return fmt.Errorf("%w: %w", store.ErrConflict, d.account.Explain(err))
		}
		if err == nil {
			version = store.Version(*answer.ETag)
		}
		return err
	})
	return version, err
}

// etagForm is the form of an entity tag (RFC 9110). Azure refuses entity tags in other forms.
var etagForm = regexp.MustCompile(`^"[!#-~]+"$`)

func conditions(cond store.Condition) (*blob.ModifiedAccessConditions, error) {
	version, must := cond.Version()
	switch {
	case cond.Absent():
		return &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}, nil
	case must && !etagForm.MatchString(string(version)):
		return nil, fmt.Errorf("version %q: %w: want an ETag", version, store.ErrConflict)
	case must:
		return &blob.ModifiedAccessConditions{IfMatch: to.Ptr(azcore.ETag(version))}, nil
	}
	return nil, nil
}

// Delete implements store.Blobs.
func (d *Driver) Delete(ctx context.Context, key string) error {
	return d.deleteIf(ctx, key, nil)
}

// DeleteVersion implements store.Blobs.
func (d *Driver) DeleteVersion(ctx context.Context, key string, v store.Version) error {
	modified, err := conditions(store.IfVersion(v))
	if err != nil {
		return checkKey(key) // no value has such a version
	}
	if err := d.deleteIf(ctx, key, modified); !errors.Is(err, store.ErrConflict) {
		return err
	}
	return nil
}

func (d *Driver) deleteIf(ctx context.Context, key string, modified *blob.ModifiedAccessConditions) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return d.deleteBlob(ctx, key, modified)
}

func (d *Driver) deleteBlob(ctx context.Context, name string, modified *blob.ModifiedAccessConditions) error {
	return d.call(ctx, 0, func(ctx context.Context) error {
		_, err := d.blobs.NewBlobClient(name).Delete(ctx, &blob.DeleteOptions{
			AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: modified},
			DeleteSnapshots:  to.Ptr(blob.DeleteSnapshotsOptionTypeInclude), // Azure deletes a blob that has snapshots only together with the snapshots
		})
		if bloberror.HasCode(err, notFound...) {
			return nil
		}
		return err
	})
}

// List implements store.Blobs.
func (d *Driver) List(ctx context.Context, prefix string) ([]string, error) {
	if err := checkPrefix(prefix); err != nil {
		return nil, err
	}
	var keys []string
	pages := d.blobs.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &prefix})
	for pages.More() {
		err := d.call(ctx, 0, func(ctx context.Context) error {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return err
			}
			for _, item := range page.Segment.BlobItems {
				keys = append(keys, *item.Name)
			}
			return nil
		})
		if errors.Is(err, store.ErrNotFound) { // the container does not exist
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// deletesInFlight is the number of concurrent requests of DeletePrefix.
const deletesInFlight = 16

// DeletePrefix implements store.PrefixDeleter. It also deletes blobs whose names are not valid keys.
func (d *Driver) DeletePrefix(ctx context.Context, prefix string) error {
	keys, err := d.List(ctx, prefix)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(deletesInFlight)
	for _, key := range keys {
		group.Go(func() error { return d.deleteBlob(ctx, key, nil) })
	}
	return group.Wait()
}
