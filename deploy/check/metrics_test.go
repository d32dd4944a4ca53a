package check

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/prometheus/promql/parser"
	corev1 "k8s.io/api/core/v1"
)

// golden is the list of metrics that the program's own tests hold it to: a line has
// a metric's name, its type, and what it means.
const golden = root + "/cmd/cli/testdata/metrics.txt"

// metrics are the names of those that exist, and their types.
func metrics(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(golden)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = os.ReadFile("testdata/metrics.txt")
	}
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) >= 2 && !strings.HasPrefix(line, "#") {
			all[fields[0]] = fields[1]
		}
	}
	if len(all) == 0 {
		t.Fatal("the list of metrics is empty")
	}
	return all
}

// checkQuery parses a query and finds each metric in it among those that exist. It
// returns their names.
func checkQuery(t *testing.T, where, query string) []string {
	t.Helper()
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %v in %s", where, err, query)
		return nil
	}
	known := metrics(t)
	var names []string
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			name := selector.Name
			if base, cut := strings.CutSuffix(name, "_bucket"); cut && known[base] == "histogram" {
				name = base
			} else if known[name] == "histogram" {
				t.Errorf("%s: %s is a histogram, which has no series of that name", where, name)
			}
			if known[name] == "" {
				t.Errorf("%s: there is no metric %q", where, name)
			}
			names = append(names, name)
		}
		call, ok := node.(*parser.Call)
		if ok && slices.Contains([]string{"rate", "increase"}, call.Func.Name) {
			checkCounter(t, where, call, known)
		}
		return nil
	})
	return names
}

// checkCounter finds rates of what is no counter.
func checkCounter(t *testing.T, where string, call *parser.Call, known map[string]string) {
	t.Helper()
	matrix, ok := call.Args[0].(*parser.MatrixSelector)
	if !ok {
		return // a subquery
	}
	name := matrix.VectorSelector.(*parser.VectorSelector).Name
	if known[name] != "counter" && !strings.HasSuffix(name, "_bucket") {
		t.Errorf("%s: %s of %s, which is a %s", where, call.Func.Name, name, known[name])
	}
}

// dashboard is Grafana's, as far as it matters here.
type dashboard struct {
	Panels []struct {
		ID      int    `json:"id"`
		Type    string `json:"type"`
		Title   string `json:"title"`
		Targets []struct {
			Expr string `json:"expr"`
		} `json:"targets"`
		GridPos struct{ X, Y, W, H int } `json:"gridPos"`
	} `json:"panels"`
	Templating struct {
		List []struct {
			Name       string `json:"name"`
			Definition string `json:"definition"`
		} `json:"list"`
	} `json:"templating"`
	Annotations struct {
		List []struct {
			Expr string `json:"expr"`
		} `json:"list"`
	} `json:"annotations"`
}

func TestDashboard(t *testing.T) {
	set := valueSets(t)["identity"]
	text := one[*corev1.ConfigMap](t, objects(t, set)).Data["bellwether.json"]
	var d dashboard
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	// Grafana puts in a duration, and what was chosen at the top.
	resolve := func(query string) string {
		return strings.NewReplacer("$__rate_interval", "5m", "$namespace", "batch", "$job", "fleet").Replace(query)
	}
	shown := map[string]bool{}
	for i, panel := range d.Panels {
		if panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("panel %q shows nothing", panel.Title)
		}
		for _, target := range panel.Targets {
			for _, name := range checkQuery(t, "panel "+panel.Title, resolve(target.Expr)) {
				shown[name] = true
			}
		}
		for _, other := range d.Panels[:i] {
			a, b := panel.GridPos, other.GridPos
			if panel.ID == other.ID || a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("panels %q and %q have one place or one ID", panel.Title, other.Title)
			}
		}
	}
	for _, annotation := range d.Annotations.List {
		checkQuery(t, "annotation", resolve(annotation.Expr))
	}
	for _, choice := range d.Templating.List {
		if match := regexp.MustCompile(`^label_values\((.*), \w+\)$`).FindStringSubmatch(choice.Definition); match != nil {
			checkQuery(t, "choice of "+choice.Name, resolve(match[1]))
		}
	}
	for name := range metrics(t) {
		if strings.HasPrefix(name, "bellwether_") && !shown[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

func TestAlerts(t *testing.T) {
	set := valueSets(t)["identity"]
	rule := one[*monitoringv1.PrometheusRule](t, objects(t, set))
	guide := read(t, "../operations.md")
	for _, group := range rule.Spec.Groups {
		for _, alert := range group.Rules {
			checkQuery(t, alert.Alert, alert.Expr.String())
			if !strings.Contains(guide, "\n### "+alert.Alert+"\n") {
				t.Errorf("operations.md does not say what to do about %s", alert.Alert)
			}
			if alert.Labels["severity"] == "" || alert.Annotations["summary"] == "" {
				t.Errorf("%s has no severity or no summary", alert.Alert)
			}
		}
	}
}

// TestAutoscalingQuery parses the query that KEDA asks Prometheus.
func TestAutoscalingQuery(t *testing.T) {
	for _, trigger := range one[*scaledObject](t, objects(t, valueSets(t)["identity"])).Spec.Triggers {
		if trigger.Type == "prometheus" {
			checkQuery(t, "KEDA", trigger.Metadata["query"])
			return
		}
	}
	t.Error("KEDA does not ask Prometheus")
}
