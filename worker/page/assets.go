package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed assets
var embedded embed.FS

// scripts are the parts of the page's script, in order. The page loads all scripts as one file,
// because every additional request would delay the first display of the page.
var scripts = []string{"format.js", "dom.js", "draw.js", "source.js", "place.js", "cluster.js", "leader.js", "jobs.js", "poisoned.js", "estimates.js", "durations.js", "result.js", "failures.js", "job.js", "map.js", "workers.js", "page.js"}

// assets contains the files of the page, by name.
type assets map[string]asset

type asset struct {
	data   []byte
	zipped func() []byte // returns data, compressed with gzip at the first call, because most workers have no viewers
	tag    string        // ETag of the file, which is derived from its data
}

// document is what fills the places of page.html. The page does not use html/template: the linker keeps
// every exported method in a program that calls methods by name, as templates do, so that all programs with
// workers would be larger by a third.
type document struct {
	cluster    string // text
	head, tail string // HTML
}

// served returns the document that loads its style and its script from the server.
func served(cluster string) document {
	return document{cluster: cluster, head: "<link rel=\"stylesheet\" href=\"/page/page.css\">\n<script defer src=\"/page/script.js\"></script>\n"}
}

// saved returns the document that contains its style, its script, and the answers of the API as
// JSON. The caller must escape the characters <, > and & in the answers.
func (a assets) saved(cluster string, answers []byte) document {
	return document{
		cluster: cluster,
		head:    fmt.Sprintf("<style>%s</style>\n", a["page.css"].data),
		tail: fmt.Sprintf("<script type=\"application/json\" id=\"saved\">%s</script>\n<script>%s</script>\n",
			answers, a["script.js"].data),
	}
}

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
	page, err := render(served(cfg.Cluster.Name))
	list.add("page.html", page)
	return list, err
}

func (a assets) add(name string, data []byte) {
	sum := sha256.Sum256(data)
	zipped := sync.OnceValue(func() []byte {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // writing to a buffer cannot fail, and the level is valid
		_, _ = z.Write(data)
		_ = z.Close()
		return b.Bytes()
	})
	a[name] = asset{data, zipped, hex.EncodeToString(sum[:8])}
}

// render puts a document into the places of page.html.
func render(d document) ([]byte, error) {
	page, err := fs.ReadFile(embedded, "assets/page.html")
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	places := strings.NewReplacer("{{cluster}}", html.EscapeString(d.cluster), "{{head}}", d.head, "{{tail}}", d.tail)
	return []byte(places.Replace(string(page))), nil
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
			data, tag = file.zipped(), tag+"-gzip"
			h.Set("Content-Encoding", "gzip")
		}
		h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
		h.Set("Cache-Control", "no-cache")
		h.Set("Vary", "Accept-Encoding")
		h.Set("ETag", strconv.Quote(tag))
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	}
}
