package dataset

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// everything is the grant of "run" and "dev", whose jobs belong to the user of the process.
var everything = []string{jobs.AnyContainer, jobs.AnyAccount}

// tryAll calls each operation of a driver for an object, and returns the first error. If an
// operation succeeds after another one has failed, tryAll reports a failure of the test.
func tryAll(t *testing.T, d *source.Set, name string) error {
	t.Helper()
	var errs []error
	for _, pattern := range []string{name, name[:strings.LastIndex(name, "/")+1], name + "*"} {
		var listed error
		for _, err := range d.List(t.Context(), pattern) {
			listed = err
		}
		errs = append(errs, listed)
	}
	r, err := d.Read(t.Context(), source.Object{Name: name, Size: 1, Tag: `"1"`}, 0, 1)
	if err == nil {
		_ = r.Close()
	}
	if !errors.Is(err, source.ErrDenied) && !errors.Is(err, source.ErrUnsupported) {
		err = nil // the object has another tag
	}
	errs = append(errs, err)
	_, err = d.Create(t.Context(), name+".new", []byte("x"))
	errs = append(errs, err, d.Remove(t.Context(), name+".new"))
	for i, err := range errs {
		if (err == nil) != (errs[0] == nil) {
			t.Errorf("%s: operation %d returned %v, and the first one %v", name, i, err, errs[0])
		}
	}
	return errs[0]
}

// TestContainers checks which containers of the cluster's account a job can reach: those of the
// grant and never the cluster's own, in whatever spelling.
func TestContainers(t *testing.T) {
	a := azuritetest.Account(t, account.Config{})
	const own, data, other = "bellwether-grants", "grants-data", "bellwether-grants2"
	for _, name := range []string{own, data, other} {
		c, err := a.Container(name, account.Retry{Within: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Create(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := c.NewBlockBlobClient("result/a.csv").UploadBuffer(t.Context(), []byte("a\n1\n"), nil); err != nil {
			t.Fatal(err)
		}
	}
	cfg := cluster.Config{Name: "grants", Azure: accountOf(azuritetest.Server(t).ConnectionString())}
	open := func(granted ...string) *source.Set {
		ctx, release := jobs.WithGrant(cluster.With(t.Context(), cfg), jobs.Grant{Containers: granted})
		t.Cleanup(release)
		return Open(ctx)
	}
	https := a.BlobURL() + "/"
	for _, test := range []struct {
		granted []string
		name    string
		allowed bool
	}{
		{nil, "azblob://" + data + "/result/a.csv", false},
		{nil, https + data + "/result/a.csv", false},
		{[]string{data}, "azblob://" + data + "/result/a.csv", true},
		{[]string{data}, https + data + "/result/a.csv", true},
		{[]string{data}, "azblob://" + other + "/result/a.csv", false},
		{everything, "azblob://" + data + "/result/a.csv", true},
		{everything, https + data + "/result/a.csv", true},
		{everything, "azblob://" + other + "/result/a.csv", false},
		{[]string{other}, "azblob://" + other + "/result/a.csv", true},

		{[]string{own}, "azblob://" + own + "/result/a.csv", false},
		{[]string{own}, https + own + "/result/a.csv", false},
		{everything, "azblob://" + own + "/result/a.csv", false},
		{everything, "azblob://" + strings.ToUpper(own) + "/result/a.csv", false},
		{everything, "azblob://bellwether%2dgrants/result/a.csv", false},
		{everything, "azblob:///" + own + "/result/a.csv", false},
		{everything, "azblob://" + data + "/../" + own + "/result/a.csv", false},
		{everything, `azblob://` + data + `/..\` + own + `/result/a.csv`, false},
		{everything, "azblob://../" + own + "/result/a.csv", false},
		{everything, https + own + "/result/a.csv", false},
		{everything, https + "bellwether%2Dgrants/result/a.csv", false},
		{everything, https + "%62ellwether-grants/result/a.csv", false},
		{everything, https + "/" + own + "/result/a.csv", false},
		{everything, https + data + "/../" + own + "/result/a.csv", false},
		{everything, https + data + "/%2e%2e/" + own + "/result/a.csv", false},
		{everything, https + data + "/..%2f" + own + "/result/a.csv", false},
		{everything, https + data + "/..%5c" + own + "/result/a.csv", false},
		{everything, https + own + "%2Fresult/a.csv", false},
		{everything, https + own + "?/result/a.csv", false},
	} {
		err := tryAll(t, open(test.granted...), test.name)
		if (err == nil) != test.allowed || err != nil && !errors.Is(err, source.ErrDenied) && !errors.Is(err, source.ErrUnsupported) {
			t.Errorf("%s with %q: got %v, want it to be allowed: %v", test.name, test.granted, err, test.allowed)
		}
	}
	var denied error
	for _, err := range open().List(t.Context(), "azblob://"+data+"/") {
		denied = err
	}
	if want := "jobs may not use container grants-data: start the worker with --containers grants-data, or set BELLWETHER_CONTAINERS"; denied == nil || !strings.Contains(denied.Error(), want) {
		t.Errorf("got %v, want %q", denied, want)
	}
}

// TestForeignAccounts checks that the process signs in only to accounts that the grant names. The
// accounts do not exist, so only refusals are tried.
func TestForeignAccounts(t *testing.T) {
	ctx := cluster.With(t.Context(), cluster.Config{Name: "grants", Azure: accountOf("AccountName=own;AccountKey=c2VjcmV0")})
	for name, granted := range map[string][]string{
		"https://partner.blob.core.windows.net/logs/a":                nil,
		"https://partner.blob.core.windows.net/data/a":                {"logs", jobs.AnyContainer, "partner/logs", "other/data"},
		"https://PARTNER.blob.core.windows.net./data/a":               {"data", jobs.AnyContainer},
		"https://partner-secondary.blob.core.windows.net/data/a":      {"data", jobs.AnyContainer},
		"https://partner.blob.core.chinacloudapi.cn/logs/a":           {"partner/logs"},
		"https://partner.blob.core.windows.net/bellwether-grants/a":   {"partner/*", "partner/bellwether-grants", jobs.AnyAccount},
		"https://own.blob.core.windows.net/bellwether-grants/a":       {"own/*", "own/bellwether-grants", "bellwether-grants", jobs.AnyContainer, jobs.AnyAccount},
		"https://OWN.blob.core.windows.net/bellwether-grants/a":       {jobs.AnyContainer, jobs.AnyAccount},
		"https://own.blob.core.windows.net:443/bellwether-grants/a":   {jobs.AnyContainer, jobs.AnyAccount},
		"https://own-secondary.blob.core.windows.net/bellwether-a/a":  {jobs.AnyContainer, jobs.AnyAccount},
		"https://own-SECONDARY.blob.core.windows.net/data/a":          {"logs"},
		"https://own.privatelink.blob.core.windows.net/data/a":        {jobs.AnyContainer, jobs.AnyAccount},
		"https://own.blob.core.windows.net:8443/data/a":               {jobs.AnyContainer, jobs.AnyAccount},
		"https://own.blob.core.windows.net/$root/a":                   nil,
		"https://own.blob.core.windows.net/bellwether%2Dgrants/a":     {jobs.AnyContainer, jobs.AnyAccount},
		"https://own.blob.core.windows.net/data/..%2fbellwether-ab/a": {jobs.AnyContainer, jobs.AnyAccount},
	} {
		granting, release := jobs.WithGrant(ctx, jobs.Grant{Containers: granted})
		if err := tryAll(t, Open(granting), name); !errors.Is(err, source.ErrDenied) && !errors.Is(err, source.ErrUnsupported) {
			t.Errorf("%s with %q: got %v, want a refusal", name, granted, err)
		}
		release()
	}
	for _, test := range []struct {
		granted, account, container string
		own, want                   bool
	}{
		{"logs", "own", "logs", true, true},
		{"own/logs", "own", "logs", true, true},
		{"own/*", "own", "logs", true, true},
		{"logs", "partner", "logs", false, false},
		{"partner/logs", "partner", "logs", false, true},
		{"partner/*", "partner", "logs", false, true},
		{"partner/*", "partner", "bellwether-x", false, false},
		{"partner/bellwether-x", "partner", "bellwether-x", false, true},
		{jobs.AnyAccount, "partner", "logs", false, true},
		{"partner.blob.core.chinacloudapi.cn/logs", "partner.blob.core.chinacloudapi.cn", "logs", false, true},
	} {
		c := containers{granted: []string{test.granted}, own: "bellwether-grants"}
		if err := c.in(test.own, test.account)(test.container); (err == nil) != test.want {
			t.Errorf("%+v: got %v", test, err)
		}
	}
}
