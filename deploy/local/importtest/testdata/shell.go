package testdata

import "net"

func shell() { _, _ = net.Listen("", "") }
