package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
)

// identityKey is the key of the storage's identity.
const identityKey = "identity"

var identityForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

// Identity returns the storage's identity: 128 random bits in hexadecimal that distinguish the storage from
// every other storage, including one that later takes its place under the same name. If the storage has no
// identity, Identity writes one. If several processes call Identity at once, all of them get the identity that
// was written first. After an [ErrUnavailable] the identity may have been written; a retry then returns it.
func (s *Store) Identity(ctx context.Context) (string, error) {
	id, err := s.KnownIdentity(ctx)
	if !errors.Is(err, ErrNotFound) {
		return id, err
	}
	id = newIdentity()
	_, err = s.blobs.Put(ctx, identityKey, encodeIdentity(id), IfAbsent)
	switch {
	case err == nil:
		return id, nil
	case !errors.Is(err, ErrConflict):
		return "", fmt.Errorf("write %s: %w", identityKey, err)
	}
	id, err = s.KnownIdentity(ctx)
	if errors.Is(err, ErrNotFound) { // a lagging replica has answered the read
		err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return id, err
}

// KnownIdentity returns the storage's identity, or [ErrNotFound] if no worker has ever used
// the storage.
func (s *Store) KnownIdentity(ctx context.Context) (string, error) {
	data, _, err := s.blobs.Get(ctx, identityKey)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", identityKey, err)
	}
	id, err := decodeIdentity(data)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", identityKey, err)
	}
	return id, nil
}

func newIdentity() string {
	var bits [16]byte
	_, _ = rand.Read(bits[:]) // Read never returns an error: see crypto/rand
	return hex.EncodeToString(bits[:])
}
