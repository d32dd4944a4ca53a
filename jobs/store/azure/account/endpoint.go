package account

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// endpoint splits an endpoint's URL into the SAS and the URL without the SAS.
func endpoint(raw string) (base, sas string, err error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.Fragment != "" {
		return "", "", errors.New("the URL is not of the form https://NAME.blob.core.windows.net, with or without ? and a SAS") // the error must not contain the URL, which may contain a secret
	}
	sas, u.RawQuery = u.RawQuery, ""
	base = strings.TrimRight(u.String(), "/")
	if strings.Contains(u.Host, ".core.") && strings.Trim(u.Path, "/") != "" {
		return "", "", fmt.Errorf("%s is not the URL of an account: end it before the path %s", base, u.Path)
	}
	return base, sas, nil
}

// development is the connection string of Azurite at its default address.
const development = "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;" +
	"AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;" +
	"BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;QueueEndpoint=http://127.0.0.1:10001/devstoreaccount1"

func (a *Account) fromConnectionString(s string) error {
	fields := map[string]string{}
	for part := range strings.SplitSeq(s, ";") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return errors.New("the connection string is not of the form Name=Value;Name=Value: copy it again, and quote it: a shell ends it at the first semicolon")
		}
		fields[strings.ToLower(name)] = value
	}
	if strings.EqualFold(fields["usedevelopmentstorage"], "true") {
		return a.fromConnectionString(development)
	}
	name, secret := fields["accountname"], fields["accountkey"]
	a.sas = strings.TrimPrefix(fields["sharedaccesssignature"], "?")
	switch {
	case a.sas == "" && (name == "" || secret == ""):
		return errors.New("the connection string has neither AccountName with AccountKey nor a SharedAccessSignature: copy it again, and quote it: a shell ends it at the first semicolon")
	case a.sas == "":
		a.key = key{name, secret}
	}
	for _, service := range []struct {
		name string
		url  *string
	}{{"blob", &a.blobURL}, {"queue", &a.queueURL}} {
		given := fields[service.name+"endpoint"]
		if given == "" && name == "" {
			return fmt.Errorf("the connection string has neither AccountName nor %sEndpoint", strings.ToUpper(service.name[:1])+service.name[1:])
		}
		given = cmp.Or(given, fmt.Sprintf("%s://%s.%s.%s", cmp.Or(fields["defaultendpointsprotocol"], "https"),
			name, service.name, cmp.Or(fields["endpointsuffix"], "core.windows.net")))
		base, _, err := endpoint(given)
		if err != nil {
			return err
		}
		*service.url = base
	}
	return nil
}

// These constants are the services, resource types and permissions that an account SAS needs. The
// permissions are read, write, delete, list, add, create, update and process.
const (
	sasServices    = "bq"
	sasResources   = "co"
	sasPermissions = "rwdlacup"
)

const sasAdvice = "create an account SAS with ss=" + sasServices + ", srt=" + sasResources + ", sp=" + sasPermissions +
	" (az storage account generate-sas --services bq --resource-types co --permissions rwdlacup --https-only --expiry …)"

// checkSAS returns an error for a SAS that lacks a service, resource type or permission. checkSAS
// does not check the times in the SAS, because storage checks the times with its own clock.
func checkSAS(sas string) error {
	values, err := url.ParseQuery(sas)
	if err != nil || values.Get("sig") == "" {
		return errors.New("what follows the URL's question mark is no SAS (it has no sig): copy it again, and quote it: a shell ends it at the first &")
	}
	if values.Has("sr") || values.Has("si") {
		return errors.New("the SAS is for one container, blob or policy, not for the account: " + sasAdvice)
	}
	for _, must := range []struct{ field, has string }{{"ss", sasServices}, {"srt", sasResources}, {"sp", sasPermissions}} {
		for _, letter := range must.has {
			if !strings.ContainsRune(values.Get(must.field), letter) {
				return fmt.Errorf("the SAS has %s=%s, in which %c is missing: %s", must.field, values.Get(must.field), letter, sasAdvice)
			}
		}
	}
	return nil
}
