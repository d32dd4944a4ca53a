package azure

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

var _ source.Replacer = (*Driver)(nil)

// Replace implements source.Replacer. If the blob was replaced but the response was lost, a retry of the SDK or of the caller
// returns ErrChanged.
func (d *Driver) Replace(ctx context.Context, o source.Object, content []byte) (source.Object, error) {
	client, _, key, err := d.locate(o.Name)
	if err != nil {
		return source.Object{}, err
	}
	answer, err := client.NewBlockBlobClient(key).Upload(ctx, account.NewBody(content), &blockblob.UploadOptions{
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: to.Ptr(azcore.ETag(o.Tag))}},
	})
	if err != nil {
		return source.Object{}, d.translate(ctx, o.Name, err)
	}
	return source.Object{Name: o.Name, Size: int64(len(content)), Tag: tag(*answer.ETag)}, nil
}
