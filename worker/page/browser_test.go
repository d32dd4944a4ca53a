package page_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var shots = flag.String("page.shots", "", "folder in which the tests leave screenshots")

// chromium is the first tab of the headless Chromium in which all tests open their pages. It is nil
// until the first of these tests starts Chromium, which takes a second of processor time.
var chromium context.Context

// closing runs the tests and then ends Chromium.
type closing struct{ *testing.M }

func (m closing) Run() int {
	code := m.M.Run()
	if chromium != nil {
		if err := chromedp.Cancel(chromium); err != nil {
			fmt.Fprintln(os.Stderr, "end Chromium:", err)
			return max(code, 1)
		}
	}
	return code
}

// browser is a tab of Chromium that shares no cookies, storage or cache with other tabs. The browser
// fails the test if the page logs an error.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	errors []string
}

// newBrowser opens a tab. newBrowser skips the test without Chromium, unless CI is set.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		const missing = "Chromium is not installed: Debian's package is chromium"
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	if chromium == nil {
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.ExecPath(program)) // containers have no sandbox
		allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
		first, _ := chromedp.NewContext(allocator) // Cancel ends the context
		// The first step starts the browser process, which ends with the step's context.
		if err := chromedp.Do(first, chromedp.Navigate("about:blank")); err != nil {
			_ = chromedp.Cancel(first) // the error of the step is the cause
			end()
			t.Fatal(err)
		}
		chromium = first
	}
	ctx, _ := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext()) // Cancel ends the context
	b := &browser{t: t, ctx: ctx}
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("close a tab: %v", err)
		}
	})
	// The first step opens the tab, which closes with the step's context.
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, b.heard); err != nil {
		t.Fatal(err)
	}
	return b
}

// heard records errors that the page logs.
func (b *browser) heard(event any) {
	text := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text = e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == "error" {
			text = e.Entry.Text + " " + e.Entry.URL
		}
	}
	if text != "" {
		b.mu.Lock()
		b.errors = append(b.errors, text)
		b.mu.Unlock()
	}
}

// forget drops the errors that the test has caused.
func (b *browser) forget(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errors = slices.DeleteFunc(b.errors, func(e string) bool { return strings.Contains(e, text) })
}

func (b *browser) wantNoErrors() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.errors {
		b.t.Errorf("error in the page: %s", text)
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) open(url string) { b.t.Helper(); b.do(chromedp.Navigate(url)) }

// look evaluates JavaScript in the page. If the result is a promise, look awaits it.
func look[T any](b *browser, script string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return v
}

// until waits until a condition in JavaScript holds. A condition that fails does not hold yet: it may
// look at what the page has not received.
func (b *browser) until(condition string) {
	b.t.Helper()
	attempt := `(() => { try { return (` + condition + `) ? "" : "false" } catch (e) { return String(e) } })()`
	for began := time.Now(); ; {
		found := look[string](b, attempt)
		waited := time.Since(began)
		switch {
		case found == "":
			return
		case waited > patience:
			b.shot("failed")
			b.t.Fatalf("waited %v until %s: %s", patience, condition, found)
		}
		time.Sleep(min(20*time.Millisecond+waited/20, 200*time.Millisecond)) // a check takes processor time from the workers
	}
}

// logPaints logs how long the first paint of the page took, and how long it takes when the
// page is loaded again.
func (b *browser) logPaints() {
	b.t.Helper()
	var paints []int
	for range 5 {
		b.until(`performance.getEntriesByName("first-contentful-paint").length`)
		paints = append(paints, int(look[float64](b, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)))
		b.do(chromedp.Reload())
	}
	b.t.Logf("first contentful paint after %d ms", paints)
}

// at sets the width of the window and checks the page. The page may not scroll sideways.
func (b *browser) at(width int) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(int64(width), 900))
	b.until(fmt.Sprintf("innerWidth === %d", width))
	if wide := look[int](b, "document.documentElement.scrollWidth"); wide > width {
		b.t.Errorf("at %d pixels the page is %d pixels wide: %s", width, wide, look[string](b, `[...document.querySelectorAll("body *")].filter(e => Math.max(e.getBoundingClientRect().right, e.getBoundingClientRect().left + e.scrollWidth) > innerWidth + 1).map(e => e.tagName + "#" + e.id + "." + e.className).slice(0, 8).join(" ")`))
	}
}

// shot saves a screenshot of the whole page, if the tests are configured to do so.
func (b *browser) shot(name string) {
	b.t.Helper()
	if *shots == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

const (
	axeVersion = "4.14.1"
	axeSHA256  = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
)

var axe = sync.OnceValues(func() ([]byte, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "bellwether", "axe-core-"+axeVersion)
	name := filepath.Join(dir, "node_modules", "axe-core", "axe.min.js")
	if _, err := os.Stat(name); err != nil {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		npm := exec.Command("npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "axe-core@"+axeVersion)
		if out, err := npm.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("npm install axe-core: %w\n%s", err, bytes.TrimSpace(out))
		}
	}
	data, err := os.ReadFile(name)
	if sum := sha256.Sum256(data); err == nil && hex.EncodeToString(sum[:]) != axeSHA256 {
		err = fmt.Errorf("%s has the SHA-256 %x, want %s", name, sum, axeSHA256)
	}
	return data, err
})

// wantAccessible checks the page with axe-core, which finds obstacles for people with disabilities.
// Without npm, wantAccessible does nothing, unless CI is set.
func (b *browser) wantAccessible(view string) {
	b.t.Helper()
	if _, err := exec.LookPath("npm"); err != nil && os.Getenv("CI") == "" {
		return
	}
	script, err := axe()
	if err != nil {
		b.t.Fatal(err)
	}
	look[any](b, string(script)+";0")
	var findings []struct {
		ID, Impact, Help string
		Nodes            []string
	}
	found := look[string](b, `axe.run(document, { resultTypes: ["violations"] }).then(r => JSON.stringify(r.violations.map(v => ({ id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.map(n => n.html.slice(0, 150) + " " + n.failureSummary) }))))`)
	if err := json.Unmarshal([]byte(found), &findings); err != nil {
		b.t.Fatal(err)
	}
	for _, f := range findings {
		if f.Impact == "serious" || f.Impact == "critical" {
			b.t.Errorf("%s: %s (%s, %s): %s", view, f.Help, f.ID, f.Impact, f.Nodes[:min(len(f.Nodes), 3)])
		}
	}
}
