package dataset

import (
	"net/url"
	"strings"
)

// lakeScheme is the beginning of the names of objects in Azure Data Lake Storage, such as
// abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/NAME, as Hadoop and Spark write them. The objects are also blobs.
const lakeScheme = "abfss://"

// blobURL returns the name of an object, or a pattern, with the URL of its blob if the name is that of an object in Azure
// Data Lake Storage. A name that is not valid stays as it is, and its source refuses it.
func blobURL(name string) string {
	if rest, ok := strings.CutPrefix(name, lakeScheme); ok {
		place, key, _ := strings.Cut(rest, "/")
		container, host, ok := strings.Cut(place, "@")
		if blobs := blobHost(host); ok && blobs != "" {
			return "https://" + blobs + "/" + container + "/" + (&url.URL{Path: "/" + key}).EscapedPath()[1:]
		}
	}
	if rest, ok := strings.CutPrefix(name, "https://"); ok {
		host, path, _ := strings.Cut(rest, "/")
		if blobs := blobHost(host); blobs != "" {
			return "https://" + blobs + "/" + path
		}
	}
	return name
}

// blobHost returns the host of an account's blobs for the host of its Data Lake Storage, or "" if the host is no such host.
func blobHost(host string) string {
	for _, domain := range blobHosts {
		if account, ok := strings.CutSuffix(strings.ToLower(host), strings.Replace(domain, ".blob.", ".dfs.", 1)); ok {
			return account + domain
		}
	}
	return ""
}
