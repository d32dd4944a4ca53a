//go:build unix && !linux

package chaos

import "errors"

// network is not used, because network namespaces exist only on Linux.
type network struct{}

func newNetwork() (*network, error) { return nil, errors.New("only Linux has network namespaces") }

func (n *network) do(do func()) { do() }

func (n *network) name(string) error { return nil }

func (n *network) drop(string) error { return nil }

func (n *network) pass() error { return nil }

func (n *network) close() {}
