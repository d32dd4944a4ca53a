package term

import "github.com/bellwether-compute/bellwether/jobs/store"

// blobGC finds the blobs of an active job that can be deleted. It is used only on the loop.
//
// A blob contains the partial of one node. When a node has entered the ledger's forest, the node or
// one of its ancestors stays in the forest. The same is true for the forest of each later leader
// that resumes from a checkpoint of this leader. When the ledger drops a partial from the forest,
// only two readers may still need the partial's blob:
//
//   - The next leader needs the blob if it resumes from an older checkpoint. The blob is therefore
//     kept until a checkpoint that was requested after the drop is durable.
//   - Merges in flight may need the blob. The blob is therefore kept until these merges are done.
//
// If a worker reports a dropped node again, the ledger ignores the partial in the report.
//
// A later job needs the blobs of whole nodes: see [store.Manifest.Whole].
//
// Some blobs are kept until the job's end: blobs of nodes that were reported twice or refused, and
// blobs of nodes that a leader merged between its last checkpoint and its death.
type blobGC struct {
	dropped []string       // blobs to delete when a checkpoint that is requested later is durable, in the order of the drops
	merges  map[string]int // number of merges in flight that read a blob
	whole   map[string]bool
}

// keepWhole records that the manifest names the blobs of these whole nodes until the job is removed.
func (g *blobGC) keepWhole(nodes []store.StoredNode) {
	g.whole = map[string]bool{}
	for _, n := range nodes {
		g.whole[n.Blob] = true
	}
}

func (g *blobGC) acquire(blob string) {
	if g.merges == nil {
		g.merges = map[string]int{}
	}
	g.merges[blob]++
}

func (g *blobGC) release(blob string) {
	if g.merges[blob]--; g.merges[blob] == 0 {
		delete(g.merges, blob)
	}
}

// takeUnread removes from g.dropped the blobs that no merge in flight reads, and returns them. They
// can be deleted when a checkpoint that is requested now is durable. If that checkpoint fails, the
// blobs are deleted at the job's end.
func (g *blobGC) takeUnread() (unread []string) {
	var read []string
	for _, blob := range g.dropped {
		switch {
		case g.whole[blob]:
		case g.merges[blob] > 0:
			read = append(read, blob)
		default:
			unread = append(unread, blob)
		}
	}
	g.dropped = read
	return unread
}
