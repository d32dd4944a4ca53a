package account_test

import (
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// FuzzConnectionString checks that no error contains the key of the connection string.
func FuzzConnectionString(f *testing.F) {
	f.Add("AccountName=acct", "EndpointSuffix=core.windows.net")
	f.Add("AccountName=acct", "BlobEndpoint=http://127.0.0.1:1/acct;QueueEndpoint=http://127.0.0.1:2/acct")
	f.Add("AccountName=acct", "BlobEndpoint=http://acct.blob.core.windows.net/container")
	f.Add("AccountName=acct", "SharedAccessSignature=sv=1&sig=x")
	f.Add("AccountName", "")
	f.Add("", "AccountKey=!")
	f.Add("UseDevelopmentStorage=true", "")
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, before, after string) {
		judge(t, corpus, account.Config{ConnectionString: before + ";AccountKey=" + secret + ";" + after})
	})
}

// FuzzURL checks that no error contains the SAS of the URL.
func FuzzURL(f *testing.F) {
	f.Add("https://acct.blob.core.windows.net", "ss=bq&srt=co&sp=rwdlacup")
	f.Add("https://acct.blob.core.windows.net", "ss=b&srt=co&sp=rwdlacup")
	f.Add("https://acct.blob.core.windows.net/container", "")
	f.Add("ftp://acct", "sr=c")
	f.Add("https://acct", "%zz")
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, url, sas string) {
		judge(t, corpus, account.Config{URL: url + "?sig=" + secret + "&" + sas})
	})
}

func judge(t *testing.T, corpus *fuzztest.Corpus, cfg account.Config) {
	t.Helper()
	cfg.Transport = refusal{503, "ServerBusy", 0}
	a, err := account.Open(cfg)
	if err != nil {
		if strings.Contains(err.Error(), secret) {
			t.Fatalf("the error tells a secret: %v", err)
		}
		corpus.Refused()
		return
	}
	corpus.Taken()
	a.Close()
}
