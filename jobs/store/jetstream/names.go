package jetstream

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

type names struct {
	bucket        string // name of the bucket for values
	bucketStream  string // name of the bucket's stream, whose prefix is prescribed by JetStream
	valueSubjects string // prefix of the subjects of all keys, which is prescribed by JetStream
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

// chunk returns the subject of one chunk of a large value. The key is the last part of the subject, so that the
// wildcard for keys under a prefix does not match the chunks of a key that is equal to the prefix.
func (n names) chunk(token, name string, i int) string {
	return n.chunkSubjects + name + "." + strconv.Itoa(i) + "." + token
}

func (n names) chunks(name string) string { return n.chunkSubjects + name + ".>" }

// chunksUnder returns the subjects of all chunks of the keys under a prefix.
func (n names) chunksUnder(token string) string { return n.chunkSubjects + "*.*." + token + ".>" }

// chunksOf returns the subjects of all chunks that were ever written for one key.
func (n names) chunksOf(token string) string { return n.chunkSubjects + "*.*." + token }

func (n names) chunkToken(subject string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(subject, n.chunkSubjects), ".")
	_, token, _ := strings.Cut(rest, ".")
	return token
}

// A subject contains a key as a sequence of tokens. Slashes in the key become the dots between
// tokens, so that a wildcard can select the keys under a prefix. Dots in the key become
// underscores, which keys do not contain.
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
