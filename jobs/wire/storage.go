package wire

import (
	"errors"
	"fmt"
)

// ErrOtherStorage means that the sender of a message uses another storage than the receiver.
var ErrOtherStorage = errors.New("another storage")

// SameStorage reports whether two storage identities in messages may belong to one storage. An empty identity
// is unknown, because older programs do not send identities.
func SameStorage(a, b string) bool { return a == "" || b == "" || a == b }

// CheckStorage returns [ErrOtherStorage] if the sender of a message uses another storage than the
// receiver. The parameter own is the receiver's storage. The error's text contains the descriptions
// sender and receiver, for example "worker w1".
func CheckStorage(sender, storage, receiver, own string) error {
	if SameStorage(storage, own) {
		return nil
	}
	return fmt.Errorf("%w: %s uses storage %.*s, %s uses storage %.*s: "+
		"give all processes of a cluster the same storage, and clusters that share a NATS different names",
		ErrOtherStorage, sender, MaxName, storage, receiver, MaxName, own)
}
