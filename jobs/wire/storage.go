package wire

// SameStorage reports whether two storage identities in messages may belong to one storage.
// An empty identity is unknown: a program that does not send identities wrote the message.
func SameStorage(a, b string) bool { return a == "" || b == "" || a == b }
