package check

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const chartDir = "../helm/bellwether"

// valueSets returns the files in testdata/values by name.
func valueSets(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no values: %v", err)
	}
	sets := map[string]map[string]any{}
	for _, file := range files {
		sets[strings.TrimSuffix(filepath.Base(file), ".yaml")] = values(t, read(t, file))
	}
	return sets
}

func values(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// render renders the chart like 'helm template fleet --namespace batch', with the notes.
func render(t *testing.T, values map[string]any) (map[string]string, error) {
	t.Helper()
	chart, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	release := common.ReleaseOptions{Name: "fleet", Namespace: "batch", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(files, func(_, text string) bool { return strings.TrimSpace(text) == "" })
	return files, nil
}

// documents returns the YAML documents of the chart for the given values; fields that Kubernetes,
// KEDA and Prometheus do not have are errors.
func documents(t *testing.T, values map[string]any) (all [][]byte) {
	t.Helper()
	known := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(known), monitoringv1.AddToScheme(known)); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer()
	files, err := render(t, values)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".txt") {
			continue
		}
		for r := k8syaml.NewYAMLReader(bufio.NewReader(strings.NewReader(files[name]))); ; {
			document, err := r.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(bytes.TrimSpace(document)) == 0 {
				continue
			}
			if bytes.Contains(document, []byte("\napiVersion: keda.sh/v1alpha1\n")) || bytes.HasPrefix(document, []byte("apiVersion: keda.sh/v1alpha1\n")) {
				err = checkKEDA(document)
			} else {
				_, _, err = decoder.Decode(document, nil, nil)
			}
			if err != nil {
				t.Errorf("%s: %v in\n%s", name, err, document)
			}
			all = append(all, document)
		}
	}
	return all
}

// one decodes the only document of the given kind.
func one[T any](t *testing.T, documents [][]byte, kind string) (object T) {
	t.Helper()
	found := 0
	for _, document := range documents {
		if regexp.MustCompile(`(?m)^kind: ` + kind + `$`).Match(document) {
			found++
			if err := yaml.Unmarshal(document, &object); err != nil {
				t.Fatal(err)
			}
		}
	}
	if found != 1 {
		t.Fatalf("got %d documents of kind %s, want one", found, kind)
	}
	return object
}

// TestChart lints and renders the chart with each set of values. The test compares the result with
// testdata/rendered, in which selectors match, volumes are mounted, the pod is restricted as
// Kubernetes defines it, and KEDA scales the Deployment by the right queue.
func TestChart(t *testing.T) {
	for name, set := range valueSets(t) {
		t.Run(name, func(t *testing.T) {
			for _, m := range lint.RunAll(chartDir, set, "batch").Messages {
				if m.Severity > support.InfoSev { // an icon is only recommended
					t.Error(m)
				}
			}
			all := documents(t, set)
			golden := "testdata/rendered/" + name + ".yaml"
			reviewed := slices.DeleteFunc(slices.Clone(all), func(document []byte) bool {
				return bytes.Contains(document, []byte("\nkind: ConfigMap\n")) // TestDashboardPanels checks the dashboard
			})
			got := append(bytes.Join(reviewed, []byte("\n---\n")), '\n')
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if read(t, golden) != string(got) {
				t.Errorf("the chart differs from %s: run go test -update and review the change", golden)
			}
			pod := one[appsv1.Deployment](t, all, "Deployment").Spec.Template.Spec
			worker := pod.Containers[0]
			checkCommand(t, worker.Args)
			checkGrace(t, worker.Args, time.Duration(*pod.TerminationGracePeriodSeconds)*time.Second)
			var names []string
			for _, e := range worker.Env {
				if !strings.HasPrefix(e.Name, "GO") { // variables of the Go runtime
					names = append(names, e.Name)
				}
			}
			checkVariables(t, names)
			files, err := render(t, set)
			if err != nil {
				t.Fatal(err)
			}
			commands := regexp.MustCompile(`(?m) -- /bellwether (.+)$`).FindAllStringSubmatch(files["bellwether/templates/NOTES.txt"], -1)
			if len(commands) == 0 {
				t.Error("the notes contain no command")
			}
			for _, match := range commands {
				checkCommand(t, strings.Fields(match[1]))
			}
		})
	}
	// The values are those of the example in the README.
	_, rest, _ := strings.Cut(read(t, "../README.md"), "```yaml\n")
	text, _, _ := strings.Cut(rest, "```\n")
	yours := strings.NewReplacer("REGISTRY", "registry.example", "VERSION", "v1", "ACCOUNT", "account",
		"CLIENT_ID", "01234567-89ab-cdef-0123-456789abcdef")
	if len(documents(t, values(t, yours.Replace(text)))) == 0 {
		t.Error("the README contains no values")
	}
}

// checkKEDA decodes a document of KEDA strictly, and checks the parameters of its triggers against
// those of KEDA 2.21. The test does not import KEDA's module, because it would add 600 packages.
func checkKEDA(document []byte) error {
	var object struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       struct {
			ScaleTargetRef   map[string]string `json:"scaleTargetRef"`
			PollingInterval  int32             `json:"pollingInterval"`
			CooldownPeriod   int32             `json:"cooldownPeriod"`
			IdleReplicaCount *int32            `json:"idleReplicaCount"`
			MinReplicaCount  int32             `json:"minReplicaCount"`
			MaxReplicaCount  int32             `json:"maxReplicaCount"`
			Advanced         map[string]any    `json:"advanced"`
			Triggers         []struct {
				Type              string            `json:"type"`
				Metadata          map[string]string `json:"metadata"`
				AuthenticationRef map[string]string `json:"authenticationRef"`
			} `json:"triggers"`
			PodIdentity     map[string]string   `json:"podIdentity"`
			SecretTargetRef []map[string]string `json:"secretTargetRef"`
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict(document, &object); err != nil {
		return err
	}
	if object.Kind == "ScaledObject" && (object.Spec.IdleReplicaCount == nil || *object.Spec.IdleReplicaCount >= object.Spec.MinReplicaCount || len(object.Spec.Triggers) == 0) {
		return errors.New("want an idle count below the minimum, and a trigger")
	}
	type parameters struct{ needed, known []string }
	for _, trigger := range object.Spec.Triggers {
		p, ok := map[string]parameters{
			"azure-queue":    {needed: []string{"queueName", "queueLength", "queueLengthStrategy"}, known: []string{"accountName", "cloud"}},
			"nats-jetstream": {needed: []string{"natsServerMonitoringEndpoint", "account", "stream", "consumer", "lagThreshold"}, known: []string{"useHttps"}},
			"prometheus":     {needed: []string{"serverAddress", "query", "threshold", "ignoreNullValues"}},
		}[trigger.Type]
		if !ok {
			return errors.New("unknown trigger " + trigger.Type)
		}
		for _, name := range p.needed {
			if trigger.Metadata[name] == "" {
				return errors.New("trigger " + trigger.Type + " needs " + name)
			}
		}
		for name := range trigger.Metadata {
			if !slices.Contains(p.needed, name) && !slices.Contains(p.known, name) {
				return errors.New("trigger " + trigger.Type + " does not have " + name)
			}
		}
	}
	return nil
}

// TestChartRefuses merges testdata/refused.txt line by line into valid values: the chart
// must refuse the result with the error that follows the arrow.
func TestChartRefuses(t *testing.T) {
	for line := range strings.Lines(read(t, "testdata/refused.txt")) {
		text, want, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if !ok {
			t.Fatalf("%q has no arrow", line)
		}
		_, err := render(t, loader.MergeMaps(valueSets(t)["identity"], values(t, text)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error with %q, got %v", text, want, err)
		}
	}
}

// TestValues checks that each value has a comment in its paragraph, and that templates use it.
func TestValues(t *testing.T) {
	text := read(t, chartDir+"/values.yaml")
	explained := false
	for line := range strings.Lines(text) {
		switch line = strings.TrimSpace(line); {
		case line == "":
			explained = false
		case strings.HasPrefix(line, "#"):
			explained = true
		case !explained && !strings.HasSuffix(line, ":"): // a line that opens a group
			t.Errorf("%q has no comment", line)
		}
	}
	var templates strings.Builder
	files, err := filepath.Glob(chartDir + "/templates/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		templates.WriteString(read(t, file))
	}
	for name := range values(t, text) {
		if !strings.Contains(templates.String(), "Values."+name) && !strings.Contains(templates.String(), "$v."+name) {
			t.Errorf("no template uses %s", name)
		}
	}
}
