package check

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	corev1 "k8s.io/api/core/v1"
)

// metrics returns the types of all metrics by name, from the list in the program's tests, whose
// lines consist of name, type and description.
func metrics(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(read(t, root+"/worker/testdata/metrics.txt")) {
		if fields := strings.Fields(line); len(fields) >= 2 {
			all[fields[0]] = fields[1]
		}
	}
	if len(all) == 0 {
		t.Fatal("the list of metrics is empty")
	}
	return all
}

// query is a PromQL expression and its location.
type query struct{ where, text string }

// queries returns the queries of the dashboard, the alerts and KEDA.
func queries(t *testing.T) []query {
	t.Helper()
	all := documents(t, valueSets(t)["identity"])
	list := readDashboard(t, all).queries()
	for _, group := range one[monitoringv1.PrometheusRule](t, all, "PrometheusRule").Spec.Groups {
		for _, alert := range group.Rules {
			list = append(list, query{"alert " + alert.Alert, alert.Expr.String()})
		}
	}
	scaled := one[struct {
		Spec struct {
			Triggers []struct{ Metadata struct{ Query string } }
		}
	}](t, all, "ScaledObject")
	for _, trigger := range scaled.Spec.Triggers {
		if trigger.Metadata.Query != "" {
			list = append(list, query{"KEDA", trigger.Metadata.Query})
		}
	}
	return list
}

func (q query) parse(t *testing.T) parser.Expr {
	t.Helper()
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(q.text)
	if err != nil {
		t.Fatalf("%s: %v in %s", q.where, err, q.text)
	}
	return expression
}

// selectors returns the vector selectors of an expression.
func selectors(expression parser.Node) []*parser.VectorSelector {
	var found []*parser.VectorSelector
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok {
			found = append(found, s)
		}
		return nil
	})
	return found
}

// TestQueries checks that the metrics of all queries exist, that rate is applied only to counters,
// and that the dashboard shows each metric.
func TestQueries(t *testing.T) {
	known := metrics(t)
	shown := map[string]bool{}
	for _, q := range queries(t) {
		expression := q.parse(t)
		for _, s := range selectors(expression) {
			base, cut := strings.CutSuffix(s.Name, "_bucket")
			switch histogram := known[base] == "histogram"; {
			case known[base] == "" || cut && !histogram:
				t.Errorf("%s: there is no metric %q", q.where, s.Name)
			case histogram && !cut:
				t.Errorf("%s: %s is a histogram, which has no series of its name", q.where, s.Name)
			}
			if strings.HasPrefix(q.where, "panel") {
				shown[base] = true
			}
		}
		parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
			if call, ok := node.(*parser.Call); ok && slices.Contains([]string{"rate", "increase"}, call.Func.Name) {
				for _, s := range selectors(call) {
					if known[s.Name] != "counter" && !strings.HasSuffix(s.Name, "_bucket") {
						t.Errorf("%s: %s of %s, which is a %s", q.where, call.Func.Name, s.Name, known[s.Name])
					}
				}
			}
			return nil
		})
	}
	for name := range known {
		if !shown[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// dashboard contains the parts of a Grafana dashboard that the tests check.
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

// queries returns the expressions of the dashboard after replacing its variables like Grafana.
func (d dashboard) queries() []query {
	var list []query
	add := func(where, text string) {
		text = strings.NewReplacer("$__rate_interval", "5m", "$namespace", "batch", "$job", "fleet").Replace(text)
		list = append(list, query{where, text})
	}
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			add("panel "+panel.Title, target.Expr)
		}
	}
	for _, annotation := range d.Annotations.List {
		add("annotation", annotation.Expr)
	}
	for _, choice := range d.Templating.List {
		if match := regexp.MustCompile(`^label_values\((.*), \w+\)$`).FindStringSubmatch(choice.Definition); match != nil {
			add("choice of "+choice.Name, match[1])
		}
	}
	return list
}

func TestDashboardPanels(t *testing.T) {
	d := readDashboard(t, documents(t, valueSets(t)["identity"]))
	for i, panel := range d.Panels {
		if panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("panel %q shows nothing", panel.Title)
		}
		for _, other := range d.Panels[:i] {
			a, b := panel.GridPos, other.GridPos
			if panel.ID == other.ID || a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("panels %q and %q overlap or have the same ID", panel.Title, other.Title)
			}
		}
	}
}

func TestAlertsAreExplained(t *testing.T) {
	guide := read(t, "../operations.md")
	rules := one[monitoringv1.PrometheusRule](t, documents(t, valueSets(t)["identity"]), "PrometheusRule")
	for _, group := range rules.Spec.Groups {
		for _, alert := range group.Rules {
			if !strings.Contains(guide, "\n### "+alert.Alert+"\n") {
				t.Errorf("operations.md does not explain %s", alert.Alert)
			}
			if alert.Labels["severity"] == "" || alert.Annotations["summary"] == "" {
				t.Errorf("%s has no severity or no summary", alert.Alert)
			}
		}
	}
}

// series returns the labels of each series of a worker, by name.
func series(t *testing.T, address string) map[string][]map[string]string {
	t.Helper()
	answer, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text := expfmt.NewTextParser(model.UTF8Validation)
	families, err := text.TextToMetricFamilies(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]map[string]string{}
	for name, family := range families {
		for _, metric := range family.Metric {
			set := map[string]string{}
			for _, label := range metric.Label {
				set[label.GetName()] = label.GetValue()
			}
			if metric.Histogram != nil {
				set["le"] = ""
				all[name+"_bucket"] = append(all[name+"_bucket"], set)
			} else {
				all[name] = append(all[name], set)
			}
		}
	}
	return all
}

// checkSeries checks that each selector of each query matches a series of a leader: name,
// labels and their values.
func checkSeries(t *testing.T, there map[string][]map[string]string) {
	t.Helper()
	scraped := []string{"namespace", "job", "pod"} // labels that Prometheus adds
	for _, q := range queries(t) {
		expression := q.parse(t)
		for _, s := range selectors(expression) {
			fits := func(set map[string]string) bool {
				for _, m := range s.LabelMatchers {
					if m.Name != model.MetricNameLabel && !slices.Contains(scraped, m.Name) && !m.Matches(set[m.Name]) {
						return false
					}
				}
				return true
			}
			if !slices.ContainsFunc(there[s.Name], fits) {
				t.Errorf("%s: no series of a leader matches %s", q.where, s)
			}
		}
		parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
			sum, ok := node.(*parser.AggregateExpr)
			if !ok {
				return nil
			}
			for _, label := range sum.Grouping {
				labelled := func(set map[string]string) bool { _, has := set[label]; return has }
				name := selectors(sum)[0].Name
				if !slices.Contains(scraped, label) && !slices.ContainsFunc(there[name], labelled) {
					t.Errorf("%s: %s has no label %s", q.where, name, label)
				}
			}
			return nil
		})
	}
}

func readDashboard(t *testing.T, all [][]byte) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal([]byte(one[corev1.ConfigMap](t, all, "ConfigMap").Data["bellwether.json"]), &d); err != nil {
		t.Fatal(err)
	}
	return d
}
