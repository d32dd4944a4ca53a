package web

import (
	"net/netip"
	"net/url"
	"testing"
)

func TestPublicAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"93.184.216.34": true, "1.1.1.1": true, "2606:4700:4700::1111": true, "::ffff:1.1.1.1": true, "64:ff9b::101:101": true,

		"0.0.0.0": false, "0.1.2.3": false, "127.0.0.1": false, "127.255.0.1": false, "::1": false, "::": false,
		"10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "fd00:ec2::254": false, "fec0::1": false,
		"169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false, "100.64.0.1": false, "100.100.100.200": false, "168.63.129.16": false,
		"224.0.0.1": false, "ff02::1": false, "255.255.255.255": false, "240.0.0.1": false, "198.18.0.1": false, "192.0.0.8": false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::127.0.0.1": false, "::ffff:0:127.0.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::101:101": false, "2002:7f00:1::": false, "2001:0:1::1": false, "2001:db8::1": false,
	} {
		if got := isPublic(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: got %v, want %v", address, got, want)
		}
		if err := refusePrivate(t.Context(), "tcp", netip.AddrPortFrom(netip.MustParseAddr(address), 443).String(), nil); (err == nil) != want {
			t.Errorf("dial of %s: got %v, want it to be allowed: %v", address, err, want)
		}
	}
	if g := NewClient(nil).Transport.(*guard); g.public.Proxy != nil { // a proxy would resolve names after the check
		t.Error("requests to servers that are not given use a proxy")
	}
}

func TestGivenHosts(t *testing.T) {
	for _, test := range []struct {
		given, url string
		want       bool
	}{
		{"files.example", "https://files.example/a", true},
		{"files.example", "http://FILES.example./a", true},
		{"Files.Example", "https://files.example:443/a", true},
		{"files.example", "https://files.example:22/a", false},
		{"files.example", "https://x.files.example/a", false},
		{"files.example", "https://files.example.org/a", false},
		{"files.example", "https://other@files.example.org/a", false},
		{"files.example:8443", "https://files.example:8443/a", true},
		{"files.example:8443", "https://files.example/a", false},
		{"files.example:80", "http://files.example/a", true},
		{"files.example:80", "https://files.example/a", false},
		{"::1", "http://[::1]/a", true},
		{"[::1]", "http://[::1]/a", true},
		{"[::1]:8080", "http://[::1]:8080/a", true},
		{"[::1]:8080", "http://[::1]/a", false},
		{AnyHost, "http://files.example:22/a", true},
	} {
		u, err := url.Parse(test.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&guard{hosts: []string{test.given}}).allows(u); got != test.want {
			t.Errorf("%s with %s: got %v, want %v", test.url, test.given, got, test.want)
		}
	}
}
