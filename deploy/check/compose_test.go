package check

import (
	"context"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// loadCompose loads the project as Compose would.
func loadCompose(t *testing.T, env ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{"../compose.yaml"}, cli.WithEnv(env), cli.WithResolvedPaths(true))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func TestCompose(t *testing.T) {
	project := loadCompose(t)
	if names := project.ServiceNames(); !slices.Equal(names, []string{"azurite", "nats", "worker"}) {
		t.Errorf("services: got %v", names)
	}
	pinned := regexp.MustCompile(`:\d+\.\d+\.\d+(-\w+)?$`)
	for name, service := range project.Services {
		if service.Build == nil && !pinned.MatchString(service.Image) {
			t.Errorf("%s: the image %s is not pinned", name, service.Image)
		}
		if service.HealthCheck == nil || len(service.HealthCheck.Test) == 0 || service.HealthCheck.Test[0] != "CMD" {
			t.Errorf("%s: want a health check that needs no shell", name)
		}
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %d is published on %q", name, port.Target, port.HostIP)
			}
		}
	}
}

func TestComposeWorker(t *testing.T) {
	worker := loadCompose(t).Services["worker"]
	checkCommand(t, worker.Command)
	checkGrace(t, worker.Command, time.Duration(*worker.StopGracePeriod))
	var names []string
	for name := range worker.Environment {
		names = append(names, name)
	}
	checkVariables(t, names)
	if test := worker.HealthCheck.Test; test[1] != "/bellwether" {
		t.Errorf("the health check runs %s, which the image does not have", test[1])
	} else {
		checkCommand(t, test[2:])
	}
	if worker.Build.Dockerfile != "deploy/Dockerfile" {
		t.Errorf("the image is built from %s", worker.Build.Dockerfile)
	}
	if len(worker.Ports) > 0 || worker.ContainerName != "" {
		t.Error("a worker with a port or a name of its own cannot be scaled")
	}
}
