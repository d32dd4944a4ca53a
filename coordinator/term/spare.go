package term

import "context"

// spares are the blobs of an active job that nothing will name any more. It
// belongs to the loop.
//
// A blob is the partial of one node. Once that node was in the forest, it or a
// node above it always is, in this leader's forest and in that of each later one
// that resumes from a checkpoint of this. So when the ledger forgets a partial
// that was in the forest, its blob is of no use to anybody but
//
//   - the next leader, if it resumes from an older checkpoint: the blob stays until
//     one that was asked for later is durable;
//   - merges under way: it stays until they are done.
//
// A worker may report the node again. Its partial is not looked at then.
//
// What is left until the job's end: blobs of nodes that were reported twice or
// refused, and of those that a leader had merged since its last checkpoint when it
// died.
type spares struct {
	next []string       // may go once the next checkpoint that is asked for is durable
	due  []string       // may go once the checkpoint under way is
	used map[string]int // by how many merges
}

func (s *spares) use(blob string) {
	if s.used == nil {
		s.used = map[string]int{}
	}
	s.used[blob]++
}

func (s *spares) release(blob string) {
	if s.used[blob]--; s.used[blob] == 0 {
		delete(s.used, blob)
	}
}

// asked: a checkpoint is asked for.
func (s *spares) asked() {
	s.due = append(s.due, s.next...)
	s.next = nil
}

// durable: the checkpoint is durable. It returns what may go.
func (s *spares) durable() []string {
	var gone []string
	for _, blob := range s.due {
		if s.used[blob] > 0 {
			s.next = append(s.next, blob)
		} else {
			gone = append(gone, blob)
		}
	}
	s.due = nil
	return gone
}

// inParallelDrops is how many blobs of a job are removed at once.
const inParallelDrops = 4

// drop removes blobs. Those that stay go with the job.
func (t *Term) drop(j *activeJob, blobs []string) {
	for _, blob := range blobs {
		j.dropping.enter(func() {
			t.spawn(func() func() {
				err := t.persist("remove partial", func(ctx context.Context) error {
					return t.cfg.Store.DropPartial(ctx, j.spec.ID, blob)
				})
				if err != nil && t.ctx.Err() == nil {
					t.log.Warn("Remove partial", "job", j.spec.ID, "error", err)
				}
				return j.dropping.leave
			})
		})
	}
}
