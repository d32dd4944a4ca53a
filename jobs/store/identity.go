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

// Identity returns the storage's identity: 128 random bits in hexadecimal that distinguish the
// storage from every other storage. If the storage is replaced by another storage of the same name,
// the identity changes. If the storage has no identity, Identity writes one. If several processes
// call Identity at once, all of them get the identity that was written first. After an
// [ErrUnavailable] the identity may have been written; a retry then returns it.
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
	if errors.Is(err, ErrNotFound) { // a replica that lags behind may have answered the read
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
	_, _ = rand.Read(bits[:]) // rand.Read of crypto/rand never returns an error
	return hex.EncodeToString(bits[:])
}
