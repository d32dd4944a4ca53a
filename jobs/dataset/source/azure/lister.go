package azure

import (
	"context"
	"iter"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// A request lists the blobs of all folders below a prefix, or only those of one folder. A folder that is left out saves the
// requests for its blobs, but each folder that is not takes one more. So the lister begins with some credit, which each such
// request takes away and each folder that is left out adds to. Without credit, it lists all folders.
const (
	firstCredit   = 32
	creditForSkip = 8
)

// lister lists the blobs of a container. It makes a pager for each page, because a pager of the SDK returns its first error
// for ever.
type lister struct {
	client *container.Client
	name   func(key string) string  // returns the name of an object or of a folder
	skip   func(folder string) bool // reports whether a folder is left out; nil if none is
	credit int
}

// blobs yields the blobs whose names begin with a prefix. The iteration ends with the first error.
func (l *lister) blobs(ctx context.Context, prefix string) iter.Seq2[*container.BlobItem, error] {
	return func(yield func(*container.BlobItem, error) bool) { l.list(ctx, prefix, yield) }
}

// list calls yield for the blobs whose names begin with a prefix. It returns false after an error, and if yield has
// returned false.
func (l *lister) list(ctx context.Context, prefix string, yield func(*container.BlobItem, error) bool) bool {
	if l.skip == nil || l.credit <= 0 {
		return l.all(ctx, prefix, yield)
	}
	l.credit--
	var folders []string
	for marker, more := (*string)(nil), true; more; more = marker != nil && *marker != "" {
		page, err := next(ctx, func(ctx context.Context) (container.ListBlobsHierarchyResponse, error) {
			return l.client.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{Prefix: to.Ptr(prefix), Marker: marker}).NextPage(ctx)
		})
		if err != nil {
			yield(nil, err)
			return false
		}
		marker = page.NextMarker
		for _, item := range page.Segment.BlobItems {
			if !yield(item, nil) {
				return false
			}
		}
		for _, folder := range page.Segment.BlobPrefixes {
			if l.skip(l.name(*folder.Name)) {
				l.credit += creditForSkip
			} else {
				folders = append(folders, *folder.Name)
			}
		}
	}
	for _, folder := range folders {
		if !l.list(ctx, folder, yield) {
			return false
		}
	}
	return true
}

// all is like list, but leaves out no folder.
func (l *lister) all(ctx context.Context, prefix string, yield func(*container.BlobItem, error) bool) bool {
	for marker, more := (*string)(nil), true; more; more = marker != nil && *marker != "" {
		page, err := next(ctx, func(ctx context.Context) (container.ListBlobsFlatResponse, error) {
			return l.client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: to.Ptr(prefix), Marker: marker}).NextPage(ctx)
		})
		if err != nil {
			yield(nil, err)
			return false
		}
		marker = page.NextMarker
		for _, item := range page.Segment.BlobItems {
			if !yield(item, nil) {
				return false
			}
		}
	}
	return true
}
