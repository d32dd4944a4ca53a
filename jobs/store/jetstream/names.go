package jetstream

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// names are those of one cluster's streams and subjects.
type names struct {
	bucket        string // of values
	bucketStream  string // the stream behind it: JetStream's prefix is fixed
	valueSubjects string // what precedes a key; fixed too
	chunksStream  string
	chunkSubjects string
	queueStream   string
	queueSubject  string
}

func newNames(cluster string) names {
	prefix := "bellwether-" + cluster
	return names{
		bucket:        prefix,
		bucketStream:  "KV_" + prefix,
		valueSubjects: "$KV." + prefix + ".",
		chunksStream:  prefix + "-large",
		chunkSubjects: "bellwether." + cluster + ".store.large.",
		queueStream:   prefix + "-queue",
		queueSubject:  "bellwether." + cluster + ".store.queue",
	}
}

func (n names) value(token string) string { return n.valueSubjects + token }

// chunk is the subject of one chunk of the large value of that name. The key goes
// last: so no key's chunks are among those under it as a prefix.
func (n names) chunk(token, name string, i int) string {
	return n.chunkSubjects + name + "." + strconv.Itoa(i) + "." + token
}

// chunks are the subjects of all chunks of one value.
func (n names) chunks(name string) string { return n.chunkSubjects + name + ".>" }

// chunksUnder are the subjects of all chunks of the keys under a prefix.
func (n names) chunksUnder(token string) string { return n.chunkSubjects + "*.*." + token + ".>" }

// A key becomes tokens of a subject: its slashes part the tokens, so that a
// prefix is a wildcard. Its dots become underscores, which no key has.
var (
	toToken   = strings.NewReplacer("/", ".", ".", "_")
	fromToken = strings.NewReplacer(".", "/", "_", ".")
)

func keyToken(key string) (string, error) {
	if !store.ValidKey(key) {
		return "", fmt.Errorf("key %q is not valid", key)
	}
	return toToken.Replace(key), nil
}

func prefixToken(prefix string) (string, error) {
	key, ok := strings.CutSuffix(prefix, "/")
	if !ok {
		return "", fmt.Errorf("prefix %q does not end in a slash", prefix)
	}
	return keyToken(key)
}
