package cli

import (
	"cmp"
	"os"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const (
	envNATSURL  = "BELLWETHER_NATS_URL"
	envCluster  = "BELLWETHER_CLUSTER"
	envStorage  = "BELLWETHER_STORAGE"
	envReplicas = "BELLWETHER_REPLICAS"

	defaultCluster   = "default"
	storageJetStream = "jetstream"
	storageAzure     = "azure"

	maxReplicas = 5 // JetStream's own bound
)

// place says which cluster is meant and where it keeps things.
type place struct {
	cluster  string
	storage  string
	replicas int // of what JetStream keeps
	azure    azureFlags
}

func (p *place) register(flags *pflag.FlagSet) {
	flags.StringVar(&p.cluster, "cluster", "", `the cluster's name (env `+envCluster+`; default "`+defaultCluster+`")`)
	flags.StringVar(&p.storage, "storage", "", `where the cluster keeps things: `+storageJetStream+` or `+storageAzure+` (env `+envStorage+`; default "`+storageJetStream+`")`)
	flags.IntVar(&p.replicas, "replicas", 0, `on how many NATS servers storage `+storageJetStream+` keeps each value; it counts only when the storage is created (env `+envReplicas+`; default 1)`)
	p.azure.register(flags)
}

// resolve fills in what the environment says and checks it.
func (p place) resolve() (place, wire.Subjects, error) {
	p.cluster = cmp.Or(p.cluster, os.Getenv(envCluster), defaultCluster)
	p.storage = cmp.Or(p.storage, os.Getenv(envStorage), storageJetStream)
	if p.storage != storageJetStream && p.storage != storageAzure {
		return p, wire.Subjects{}, usagef("storage %q is not supported: use %q or %q", p.storage, storageJetStream, storageAzure)
	}
	if text := cmp.Or(os.Getenv(envReplicas), "1"); p.replicas == 0 {
		n, err := strconv.Atoi(text)
		if err != nil {
			return p, wire.Subjects{}, usagef("%s is %q: want 1 to %d", envReplicas, text, maxReplicas)
		}
		p.replicas = n
	}
	if p.replicas < 1 || p.replicas > maxReplicas {
		return p, wire.Subjects{}, usagef("%d replicas: want 1 to %d", p.replicas, maxReplicas)
	}
	subjects, err := wire.NewSubjects(p.cluster)
	return p, subjects, usage(err)
}
