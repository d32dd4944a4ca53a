package check

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// decoder knows the types that the chart uses, and refuses fields that they do not
// have.
func decoder() (runtime.Decoder, error) {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, monitoringv1.AddToScheme, addKEDA} {
		if err := add(known); err != nil {
			return nil, err
		}
	}
	return serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer(), nil
}

// objects renders the chart and decodes all of it.
func objects(t *testing.T, values map[string]any) []runtime.Object {
	t.Helper()
	files, err := render(t, values)
	if err != nil {
		t.Fatal(err)
	}
	var all []runtime.Object
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".txt") {
			continue
		}
		decoded, err := decode(files[name])
		if err != nil {
			t.Errorf("%s: %v in\n%s", name, err, files[name])
		}
		all = append(all, decoded...)
	}
	return all
}

func decode(text string) ([]runtime.Object, error) {
	into, err := decoder()
	if err != nil {
		return nil, err
	}
	var all []runtime.Object
	documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		object, _, err := into.Decode(document, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("decode a document: %w", err)
		}
		all = append(all, object)
	}
}

func one[O runtime.Object](t *testing.T, all []runtime.Object) O {
	t.Helper()
	var found []O
	for _, object := range all {
		if o, ok := object.(O); ok {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("got %d objects of type %T, want one", len(found), *new(O))
	}
	return found[0]
}

// TestChartGivesKubernetesObjects decodes what every set of values gives, and holds
// the parts against one another and against the program.
func TestChartGivesKubernetesObjects(t *testing.T) {
	for name, set := range valueSets(t) {
		t.Run(name, func(t *testing.T) {
			all := objects(t, set)
			deployment := one[*appsv1.Deployment](t, all)
			pod := deployment.Spec.Template
			if len(pod.Spec.Containers) != 1 {
				t.Fatalf("got %d containers, want one", len(pod.Spec.Containers))
			}
			worker := pod.Spec.Containers[0]
			checkCommand(t, worker.Args)
			checkGrace(t, worker.Args, time.Duration(*pod.Spec.TerminationGracePeriodSeconds)*time.Second)
			checkEnvironment(t, worker)
			checkVolumes(t, pod.Spec)
			checkSecurity(t, pod.Spec)
			checkProbes(t, worker)
			checkSelectors(t, deployment, all)
			if account, created := account(all); created && account.Name != pod.Spec.ServiceAccountName {
				t.Errorf("the pods' service account is %s, created is %s", pod.Spec.ServiceAccountName, account.Name)
			}
		})
	}
}

func account(all []runtime.Object) (*corev1.ServiceAccount, bool) {
	for _, object := range all {
		if a, ok := object.(*corev1.ServiceAccount); ok {
			return a, true
		}
	}
	return nil, false
}

func checkEnvironment(t *testing.T, worker corev1.Container) {
	t.Helper()
	var names []string
	for _, e := range worker.Env {
		if !strings.HasPrefix(e.Name, "GO") { // the Go runtime's
			names = append(names, e.Name)
		}
		if file, ok := strings.CutPrefix(e.Value, "/"); ok && !slices.ContainsFunc(worker.VolumeMounts, func(m corev1.VolumeMount) bool {
			return strings.HasPrefix("/"+file, m.MountPath+"/")
		}) {
			t.Errorf("%s is %s, where nothing is mounted", e.Name, e.Value)
		}
	}
	checkVariables(t, names)
	if len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Errorf("a variable is given twice: %v", names)
	}
}

func checkVolumes(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	var mounted, there []string
	for _, m := range pod.Containers[0].VolumeMounts {
		mounted = append(mounted, m.Name)
	}
	for _, v := range pod.Volumes {
		there = append(there, v.Name)
	}
	if !slices.Equal(mounted, there) {
		t.Errorf("mounted are %v, of the volumes %v", mounted, there)
	}
}

// checkSecurity holds the pod against what Kubernetes calls restricted.
func checkSecurity(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	p, c := pod.SecurityContext, pod.Containers[0].SecurityContext
	if !*p.RunAsNonRoot || *p.RunAsUser == 0 || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("pod: got %v", p)
	}
	if *c.AllowPrivilegeEscalation || !*c.ReadOnlyRootFilesystem || !slices.Equal(c.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("container: got %v", c)
	}
	if *pod.AutomountServiceAccountToken {
		t.Error("the pod has a token for Kubernetes, and no use for it")
	}
}

func checkProbes(t *testing.T, worker corev1.Container) {
	t.Helper()
	for path, probe := range map[string]*corev1.Probe{"/healthz": worker.LivenessProbe, "/readyz": worker.ReadinessProbe} {
		get := probe.HTTPGet
		if get == nil || get.Path != path || get.Port.String() != worker.Ports[0].Name {
			t.Errorf("probe of %s: got %v", path, get)
		}
	}
	if !slices.Contains(worker.Args, fmt.Sprintf("--http=:%d", worker.Ports[0].ContainerPort)) {
		t.Errorf("the worker does not listen on port %d: %v", worker.Ports[0].ContainerPort, worker.Args)
	}
}

// checkSelectors finds what selects pods other than the deployment's.
func checkSelectors(t *testing.T, deployment *appsv1.Deployment, all []runtime.Object) {
	t.Helper()
	pods := labels.Set(deployment.Spec.Template.Labels)
	match := func(what string, s map[string]string) {
		t.Helper()
		if len(s) == 0 || !labels.SelectorFromSet(s).Matches(pods) {
			t.Errorf("%s selects %v, the pods are %v", what, s, pods)
		}
	}
	match("the deployment", deployment.Spec.Selector.MatchLabels)
	for _, spread := range deployment.Spec.Template.Spec.TopologySpreadConstraints {
		match("the spread", spread.LabelSelector.MatchLabels)
	}
	for _, object := range all {
		switch o := object.(type) {
		case *policyv1.PodDisruptionBudget:
			match("the disruption budget", o.Spec.Selector.MatchLabels)
		case *networkingv1.NetworkPolicy:
			match("the network policy", o.Spec.PodSelector.MatchLabels)
		case *corev1.Service:
			match("the service", o.Spec.Selector)
		case *monitoringv1.ServiceMonitor:
			if service := one[*corev1.Service](t, all); !labels.SelectorFromSet(o.Spec.Selector.MatchLabels).Matches(labels.Set(service.Labels)) {
				t.Errorf("the service monitor selects %v, the service is %v", o.Spec.Selector.MatchLabels, service.Labels)
			}
		}
	}
}
