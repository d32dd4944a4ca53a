package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"time"
)

//go:embed assets
var embedded embed.FS

// scripts are the parts of the page's script, in order. The page loads all scripts as one file,
// because every additional request would delay the first display of the page.
var scripts = []string{"format.js", "dom.js", "draw.js", "source.js", "cluster.js", "leader.js", "jobs.js", "poisoned.js", "job.js", "map.js", "workers.js", "page.js"}

// assets contains the files of the page, by name.
type assets map[string]asset

type asset struct {
	data   []byte
	zipped []byte // data, compressed with gzip
	tag    string // ETag of the file, which is derived from its data
}

// document is the data of the page's template.
type document struct {
	Cluster string

	// The fields below are set only in a saved page.
	Style template.CSS
	Code  template.JS
	Saved template.JS // answers of the API as JSON
}

var pageTemplate = template.Must(template.ParseFS(embedded, "assets/page.html"))

func newAssets(cfg Config) (assets, error) {
	list := assets{}
	style, err := fs.ReadFile(embedded, "assets/page.css")
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	list.add("page.css", style)
	var script bytes.Buffer
	for _, name := range scripts {
		part, err := fs.ReadFile(embedded, "assets/"+name)
		if err != nil {
			return nil, fmt.Errorf("read the page: %w", err)
		}
		script.Write(part)
		script.WriteString("\n")
	}
	list.add("script.js", script.Bytes())
	html, err := render(document{Cluster: cfg.Cluster.Name})
	list.add("page.html", html)
	return list, err
}

func (a assets) add(name string, data []byte) {
	sum := sha256.Sum256(data)
	var zipped bytes.Buffer
	z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // writing to a buffer cannot fail, and the level is valid
	_, _ = z.Write(data)
	_ = z.Close()
	a[name] = asset{data, zipped.Bytes(), hex.EncodeToString(sum[:8])}
}

func render(d document) ([]byte, error) {
	var html bytes.Buffer
	if err := pageTemplate.Execute(&html, d); err != nil {
		return nil, fmt.Errorf("render the page: %w", err)
	}
	return html.Bytes(), nil
}

// serve serves a file, which browsers must revalidate at each use.
func (a assets) serve(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		file, ok := a[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		data, tag := file.data, file.tag
		h := w.Header()
		if acceptsGzip(r) {
			data, tag = file.zipped, tag+"-gzip"
			h.Set("Content-Encoding", "gzip")
		}
		h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
		h.Set("Cache-Control", "no-cache")
		h.Set("Vary", "Accept-Encoding")
		h.Set("ETag", strconv.Quote(tag))
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	}
}
