package bloblease

import (
	"bytes"
	"context"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	azlease "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/bellwether-compute/bellwether/election"
)

// The error codes of storage are grouped by their meaning for the lease.
var (
	heldByAnother = []bloberror.Code{
		bloberror.LeaseAlreadyPresent, bloberror.LeaseIsBreakingAndCannotBeAcquired,
	}
	notHolder = []bloberror.Code{
		bloberror.LeaseIDMismatchWithLeaseOperation, bloberror.LeaseNotPresentWithLeaseOperation,
		bloberror.LeaseIDMismatchWithBlobOperation, bloberror.LeaseNotPresentWithBlobOperation, bloberror.LeaseLost,
		bloberror.LeaseIsBreakingAndCannotBeChanged, bloberror.LeaseIsBrokenAndCannotBeRenewed, bloberror.LeaseAlreadyBroken,
	}
	otherHolder = []bloberror.Code{bloberror.LeaseIDMismatchWithLeaseOperation}
	conflict    = []bloberror.Code{bloberror.ConditionNotMet}
	noBlob      = []bloberror.Code{bloberror.BlobNotFound, bloberror.ContainerNotFound}
	blobThere   = []bloberror.Code{bloberror.BlobAlreadyExists, bloberror.ConditionNotMet, bloberror.LeaseIDMissing}
)

func isCode(err error, codes []bloberror.Code) bool { return bloberror.HasCode(err, codes...) }

// read returns the current record of the lease.
func (l *Lease) read(ctx context.Context) (observation, error) {
	properties, err := l.blob.GetProperties(ctx, nil)
	if err != nil {
		return observation{}, err
	}
	record, err := decode(properties.Metadata)
	if err != nil {
		return observation{}, fmt.Errorf("blob %s in container %s: %w", l.cfg.Blob, l.cfg.Container, err)
	}
	if state := properties.LeaseState; state != nil {
		record.Held = *state == azlease.StateTypeLeased || *state == azlease.StateTypeBreaking
	}
	seen := observation{record, *properties.ETag}
	l.observe(seen)
	return seen, nil
}

// write replaces the record if the blob has the given lease ID and ETag. An empty etag means that
// the record is unknown, and the write fails.
func (l *Lease) write(ctx context.Context, record election.Record, leaseID string, etag azcore.ETag) error {
	if etag == "" {
		etag = `"0"`
	}
	answer, err := l.blob.SetMetadata(ctx, encode(record), &blob.SetMetadataOptions{AccessConditions: &blob.AccessConditions{
		LeaseAccessConditions:    &blob.LeaseAccessConditions{LeaseID: &leaseID},
		ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &etag},
	}})
	if err != nil {
		return err
	}
	l.observe(observation{record, *answer.ETag})
	return nil
}

// create creates the lease's blob. If err says that the container is missing, create also creates
// the container. Several processes may call create at once. If this process has seen the blob
// before, create returns an error, because the blob was deleted and its epoch was lost.
func (l *Lease) create(ctx context.Context, err error) error {
	if l.known().etag != "" {
		return fmt.Errorf("blob %s in container %s, which holds the last epoch, was deleted: stop all workers, "+
			"then start them as a cluster of another name, or delete all of the container", l.cfg.Blob, l.cfg.Container)
	}
	if bloberror.HasCode(err, bloberror.ContainerNotFound) {
		if _, err := l.container.Create(ctx, nil); err != nil && !bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {
			return fmt.Errorf("create container %s (or have an administrator create it): %w", l.cfg.Container, l.account.Explain(err))
		}
	}
	err = l.upload(ctx)
	if isCode(err, blobThere) {
		return nil
	}
	return err
}

func (l *Lease) upload(ctx context.Context) error {
	_, err := l.blob.Upload(ctx, streaming.NopCloser(bytes.NewReader(nil)), &blockblob.UploadOptions{
		AccessConditions: &blob.AccessConditions{
			ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)},
		},
	})
	return err
}
