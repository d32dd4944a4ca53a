package check

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// KEDA's types, as far as the chart uses them: KEDA's own module brings 600 packages
// with it, among them Kubernetes' controllers. Fields that are not here are refused.
type (
	scaledObject struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			ScaleTargetRef struct {
				Name string `json:"name"`
			} `json:"scaleTargetRef"`
			PollingInterval  int32 `json:"pollingInterval"`
			CooldownPeriod   int32 `json:"cooldownPeriod"`
			IdleReplicaCount int32 `json:"idleReplicaCount"`
			MinReplicaCount  int32 `json:"minReplicaCount"`
			MaxReplicaCount  int32 `json:"maxReplicaCount"`
			Advanced         struct {
				HorizontalPodAutoscalerConfig struct {
					Behavior autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior"`
				} `json:"horizontalPodAutoscalerConfig"`
			} `json:"advanced"`
			Triggers []trigger `json:"triggers"`
		} `json:"spec"`
	}
	trigger struct {
		Type              string            `json:"type"`
		Metadata          map[string]string `json:"metadata"`
		AuthenticationRef struct {
			Name string `json:"name"`
		} `json:"authenticationRef"`
	}
	triggerAuthentication struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			PodIdentity struct {
				Provider   string `json:"provider"`
				IdentityID string `json:"identityId"`
			} `json:"podIdentity"`
			SecretTargetRef []struct {
				Parameter string `json:"parameter"`
				Name      string `json:"name"`
				Key       string `json:"key"`
			} `json:"secretTargetRef"`
		} `json:"spec"`
	}
)

func (o *scaledObject) DeepCopyObject() runtime.Object          { c := *o; return &c }
func (o *triggerAuthentication) DeepCopyObject() runtime.Object { c := *o; return &c }

func addKEDA(s *runtime.Scheme) error {
	v := schema.GroupVersion{Group: "keda.sh", Version: "v1alpha1"}
	s.AddKnownTypeWithName(v.WithKind("ScaledObject"), &scaledObject{})
	s.AddKnownTypeWithName(v.WithKind("TriggerAuthentication"), &triggerAuthentication{})
	return nil
}

// triggers are the parameters that KEDA 2.21 knows of the triggers that the chart
// uses, and whether they must be there.
var triggers = map[string]map[string]bool{
	"azure-queue": {"queueName": true, "queueLength": true, "queueLengthStrategy": true, "accountName": false, "cloud": false},
	"nats-jetstream": {
		"natsServerMonitoringEndpoint": true, "account": true, "useHttps": false, "stream": true, "consumer": true,
		"lagThreshold": true,
	},
	"prometheus": {"serverAddress": true, "query": true, "threshold": true, "ignoreNullValues": true},
}

func TestAutoscaling(t *testing.T) {
	queue := map[string]string{"identity": "bellwether-prices", "secrets": "bellwether-default", "jetstream": "bellwether-default-queue"}
	for name, set := range valueSets(t) {
		if name == "plain" {
			if deployment := one[*appsv1.Deployment](t, objects(t, set)); *deployment.Spec.Replicas != 12 {
				t.Errorf("replicas: got %d, want 12", *deployment.Spec.Replicas)
			}
			continue
		}
		all := objects(t, set)
		scaled, deployment := one[*scaledObject](t, all), one[*appsv1.Deployment](t, all)
		if deployment.Spec.Replicas != nil {
			t.Errorf("%s: Helm sets the number of workers anew with each upgrade, against KEDA", name)
		}
		if scaled.Spec.ScaleTargetRef.Name != deployment.Name {
			t.Errorf("%s: scaled is %s, not %s", name, scaled.Spec.ScaleTargetRef.Name, deployment.Name)
		}
		if scaled.Spec.IdleReplicaCount != 0 || scaled.Spec.MinReplicaCount < 1 {
			t.Errorf("%s: %d workers without jobs and %d with, want none and some", name, scaled.Spec.IdleReplicaCount, scaled.Spec.MinReplicaCount)
		}
		first := scaled.Spec.Triggers[0].Metadata
		if got := first["queueName"] + first["stream"]; got != queue[name] {
			t.Errorf("%s: the queue is %s, want %s", name, got, queue[name])
		}
		for _, trigger := range scaled.Spec.Triggers {
			checkTrigger(t, trigger)
			if ref := trigger.AuthenticationRef.Name; ref != "" && ref != one[*triggerAuthentication](t, all).Name {
				t.Errorf("%s: %s signs in by %s, which is not there", name, trigger.Type, ref)
			}
		}
	}
}

func checkTrigger(t *testing.T, trigger trigger) {
	t.Helper()
	known, ok := triggers[trigger.Type]
	if !ok {
		t.Errorf("trigger %s is not known", trigger.Type)
	}
	for name := range trigger.Metadata {
		if _, ok := known[name]; !ok {
			t.Errorf("trigger %s has %s, which it does not take", trigger.Type, name)
		}
	}
	for name, needed := range known {
		if needed && trigger.Metadata[name] == "" {
			t.Errorf("trigger %s needs %s", trigger.Type, name)
		}
	}
}
