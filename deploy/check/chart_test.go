package check

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

const chartDir = "../helm/bellwether"

// valueSets are the values that the chart is tried with, by name.
func valueSets(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no values to try the chart with: %v", err)
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

// render does what 'helm install fleet --namespace batch' does before it asks
// Kubernetes for anything.
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
	maps.DeleteFunc(files, func(name, text string) bool { return strings.TrimSpace(text) == "" })
	return files, nil
}

func TestChartIsLinted(t *testing.T) {
	for name, set := range valueSets(t) {
		for _, m := range lint.RunAll(chartDir, set, "batch").Messages {
			if m.Severity > support.InfoSev { // it would like an icon
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}

// TestChartRefuses gives the chart values that it must not take, on top of a set that
// it does take.
func TestChartRefuses(t *testing.T) {
	for _, refused := range []struct{ values, want string }{
		{`image: {repository: ""}`, "/image/repository"},
		{`image: {tag: latest}`, "/image/tag"},
		{`image: {tag: ""}`, "image.tag or image.digest is needed"},
		{`image: {digest: sha256:0123}`, "/image/digest"},
		{`replica: 3`, "replica"},
		{`replicas: three`, "/replicas"},
		{`slots: 0`, "/slots"},
		{`cluster: Prices`, "/cluster"},
		{`cluster: a--b`, "/cluster"},
		{`logLevel: loud`, "/logLevel"},
		{`extraArgs: ["-v"]`, "/extraArgs/0"},
		{`terminationGracePeriodSeconds: 29`, "terminationGracePeriodSeconds is 29: with drainTimeoutSeconds 20 it must be at least 30"},
		{`drainTimeoutSeconds: 60`, "terminationGracePeriodSeconds is 45: with drainTimeoutSeconds 60 it must be at least 70"},
		{`nats: {url: ""}`, "nats.url or nats.urlSecret.name is needed"},
		{`nats: {url: "nats://user:secret@nats:4222"}`, "/nats/url"},
		{`nats: {urlSecret: {name: nats}}`, "nats.url and nats.urlSecret.name exclude each other"},
		{`nats: {credsSecret: {name: a}, userSecret: {name: b}}`, "nats.credsSecret and nats.userSecret exclude each other"},
		{`nats: {tlsSecret: {name: a, certKey: tls.crt}}`, "certKey and nats.tlsSecret.keyKey go together"},
		{`nats: {ports: []}`, "/nats/ports"},
		{`storage: {type: floppy}`, "/storage/type"},
		{`storage: {azure: {account: ""}}`, "storage.azure.account or storage.azure.connectionSecret.name is needed"},
		{`storage: {azure: {account: https://x.blob.core.windows.net}}`, "/storage/azure/account"},
		{`storage: {azure: {connectionSecret: {name: a}}}`, "exclude each other"},
		{`workloadIdentity: {clientId: ""}`, "workloadIdentity.clientId is needed"},
		{`workloadIdentity: {clientId: me}`, "/workloadIdentity/clientId"},
		{`podDisruptionBudget: {maxUnavailable: 101%}`, "/podDisruptionBudget/maxUnavailable"},
		{`autoscaling: {minReplicas: 50}`, "autoscaling.minReplicas is 50: it must not be above maxReplicas, 32"},
		{`autoscaling: {minReplicas: 0}`, "/autoscaling/minReplicas"},
		{`storage: {type: jetstream}`, "autoscaling.jetstream.monitoringEndpoint is needed"},
		{`storage: {jetstream: {replicas: 2}}`, "/storage/jetstream/replicas"},
		{`metrics: {port: 80}`, "/metrics/port"},
	} {
		set := loader.MergeMaps(valueSets(t)["identity"], values(t, refused.values))
		_, err := render(t, set)
		if err == nil {
			t.Errorf("%s is taken", refused.values)
		} else if !strings.Contains(err.Error(), refused.want) {
			t.Errorf("%s: want an error with %q, got %v", refused.values, refused.want, err)
		}
	}
}

// TestValuesAreDocumented finds a comment above each value, in the same paragraph.
func TestValuesAreDocumented(t *testing.T) {
	explained := false
	for line := range strings.Lines(read(t, chartDir+"/values.yaml")) {
		text := strings.TrimSpace(line)
		switch {
		case text == "":
			explained = false
		case strings.HasPrefix(text, "#"):
			explained = true
		case !explained && !strings.HasSuffix(text, ":"): // which opens a group
			t.Errorf("nothing says what %q is", text)
		}
	}
}

// TestEachValueIsUsed finds values that no template reads.
func TestEachValueIsUsed(t *testing.T) {
	var templates strings.Builder
	files, err := filepath.Glob(chartDir + "/templates/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		templates.WriteString(read(t, file))
	}
	for _, name := range slices.Sorted(maps.Keys(values(t, read(t, chartDir+"/values.yaml")))) {
		if !strings.Contains(templates.String(), "Values."+name) && !strings.Contains(templates.String(), "$v."+name) {
			t.Errorf("no template reads %s", name)
		}
	}
}
