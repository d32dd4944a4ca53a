package page_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/bellwether-compute/bellwether/jobs/client"
)

// hostile are texts that a name, a label, a parameter, an error or a result may contain.
var hostile = []string{
	`<img src=x onerror="window.harmed=1">`, `</script><script>window.harmed=1</script>`, `"><svg onload=window.harmed=1>`, `'-window.harmed++-'`,
	`javascript:window.harmed=1`, `<b data-harm>bold</b>`, `<!--`, `]]>`, "${window.harmed=1}", "{{7*7}}",
	"\x1b[2J\x1b]0;title\a", "\x00\x01\x7f\u0085", "\u202egpj.exe", "\u2066a\u2069\u200f\u061c", "\u2028\u2029", "\U000e0041", "__proto__",
}

// unharmed is JavaScript for whether the page runs no code and contains no element of a text, and shows no
// characters that are invisible or reorder text.
const unharmed = `window.harmed === undefined && !document.querySelector("[data-harm], img, svg[onload], [onerror]") && !Object.prototype.x &&
	!/[^\P{C}\n\t\u200c\u200d]|[\u2028\u2029]/u.test(document.body.innerText) &&
	![...document.querySelectorAll("[href], [src]")].some(e => /^\s*javascript:/i.test(e.getAttribute("href") || e.getAttribute("src") || ""))`

// spoil replaces texts of an answer at random, but not those that the page needs as times, states and IDs.
func spoil(random *rand.Rand, name string, value any) any {
	switch v := value.(type) {
	case string:
		_, err := time.Parse(time.RFC3339Nano, v)
		if err == nil || strings.Contains(" id job state cells node sha256 ", " "+name+" ") {
			return v
		}
		return hostile[random.IntN(len(hostile))] + v
	case []any:
		for i := range v {
			v[i] = spoil(random, name, v[i])
		}
	case map[string]any:
		for member := range v {
			v[member] = spoil(random, member, v[member])
		}
		if name == "params" || name == "result" || name == "labels" {
			v[hostile[random.IntN(len(hostile))]] = hostile
		}
	}
	return value
}

// TestHostileTexts shows answers of the API in which texts are hostile, in all views of the page and in a
// saved file.
func TestHostileTexts(t *testing.T) {
	b := newBrowser(t)
	c := newCluster(t)
	url := c.start(2, nil)
	done := c.submit(stepsParams{Partitions: 300}, client.SubmitOptions{})
	if _, err := c.client.Wait(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	id := c.submit(stepsParams{Partitions: 1_000_000, Sleep: time.Millisecond, Fail: 40}, client.SubmitOptions{MaxAttempts: 1000})
	c.poison(url + "/api/v1/")
	b.do(chromedp.EmulateViewport(1400, 900))
	b.open(url + "/?light&job=" + id)
	b.until(`view.cluster && view.workers && view.terms && view.throughput && view.jobs && view.job && view.samples && view.map && document.querySelector("#fails .fail")`)
	answers := look[string](b, `events.close(), events = null, connect = () => {}, JSON.stringify({cluster: view.cluster, workers: view.workers, terms: view.terms, throughput: view.throughput, jobs: view.jobs, poisoned: view.poisoned, job: view.job, map: view.map, samples: view.samples})`)
	var saved string
	if got := c.get(url+"/api/v1/save?job="+done, &saved); got != 200 {
		t.Fatalf("save: got %d: %.300s", got, saved)
	}
	const begin, end = `<script type="application/json" id="saved">`, `</script>`
	head, rest, ok := strings.Cut(saved, begin)
	data, tail, also := strings.Cut(rest, end)
	if !ok || !also {
		t.Fatalf("a saved file has no answers: %.300s", saved)
	}
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(39, seed))
		spoiled := func(text string) string {
			decoder := json.NewDecoder(strings.NewReader(text))
			decoder.UseNumber()
			var all any
			if err := decoder.Decode(&all); err != nil {
				t.Fatal(err)
			}
			encoded, err := json.Marshal(spoil(random, "", all)) // as the page's server encodes answers
			if err != nil {
				t.Fatal(err)
			}
			return string(encoded)
		}
		look[any](b, `(() => { const all = `+spoiled(answers)+`; for (const [event, answer] of Object.entries(all)) if (answer) take(event, answer); for (const event of ERRORS) take(event, {error: `+spoiled(`"error"`)+`}); take("problem", {error: `+spoiled(`"problem"`)+`}); drawAgain() })(); 0`)
		if !look[bool](b, unharmed) {
			t.Errorf("seed %d: a text harms the page: %q", seed, look[string](b, `document.body.innerText`))
		}
		file := filepath.Join(t.TempDir(), fmt.Sprintf("saved%d.html", seed))
		var html bytes.Buffer
		html.WriteString(head + begin + spoiled(data) + end + tail)
		if err := os.WriteFile(file, html.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		b.open("file://" + file)
		b.until(`view.saved && view.job && view.jobs`)
		if !look[bool](b, unharmed) {
			t.Errorf("seed %d: a text harms a saved page: %q", seed, look[string](b, `document.body.innerText`))
		}
		if seed < 7 {
			b.open(url + "/?light&job=" + id)
			b.until(`view.cluster && view.job && view.map`)
			look[any](b, `events && events.close(), events = null, connect = () => {}, 0`)
		}
	}
	b.wantNoErrors()
	if err := c.client.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}
