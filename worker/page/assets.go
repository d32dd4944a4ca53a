package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"time"
)

//go:embed assets
var embedded embed.FS

// scripts are the page's scripts, in the order in which they are loaded. They share one
// global scope, so that a saved page can contain them one after the other.
var scripts = []string{"format.js", "dom.js", "draw.js", "source.js", "cluster.js", "leader.js", "jobs.js", "poisoned.js", "job.js", "map.js", "workers.js", "page.js"}

// assets are the files of the page, by name.
type assets map[string]asset

type asset struct {
	data []byte
	tag  string // changes with the data
}

// document is the data of the page's template.
type document struct {
	Cluster string
	Scripts []string // names of the scripts; empty in a saved page

	// The following fields are set only in a saved page.
	Style template.CSS
	Code  template.JS
	Saved template.JS // the answers of the API, as JSON
}

var pageTemplate = template.Must(template.ParseFS(embedded, "assets/page.html"))

func newAssets(cfg Config) (assets, error) {
	list := assets{}
	add := func(name string, data []byte) {
		sum := sha256.Sum256(data)
		list[name] = asset{data, `"` + hex.EncodeToString(sum[:8]) + `"`}
	}
	for _, name := range append([]string{"page.css"}, scripts...) {
		data, err := fs.ReadFile(embedded, "assets/"+name)
		if err != nil {
			return nil, fmt.Errorf("read the page: %w", err)
		}
		add(name, data)
	}
	html, err := render(document{Cluster: cfg.Cluster.Name, Scripts: scripts})
	add("page.html", html)
	return list, err
}

func render(d document) ([]byte, error) {
	var html bytes.Buffer
	if err := pageTemplate.Execute(&html, d); err != nil {
		return nil, fmt.Errorf("render the page: %w", err)
	}
	return html.Bytes(), nil
}

// serve serves a file. Browsers check each time whether the file has changed.
func (a assets) serve(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		file, ok := a[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", file.tag)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(file.data))
	}
}
