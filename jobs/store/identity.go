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

// Identity returns the storage's identity: 128 random bits in hexadecimal that distinguish
// the storage from every other one, also from one that replaced it. A storage without an
// identity gets one. Several processes may call Identity at once: the first write counts,
// and all processes return the identity in storage. After an error with [ErrUnavailable]
// the identity may have been written, and a retry returns it.
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
	if errors.Is(err, ErrNotFound) { // a replica that lags answered
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
	_, _ = rand.Read(bits[:]) // never fails: see crypto/rand
	return hex.EncodeToString(bits[:])
}
