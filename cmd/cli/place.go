package cli

import (
	"cmp"
	"os"

	"github.com/spf13/pflag"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

const (
	envNATSURL = "BELLWETHER_NATS_URL"
	envCluster = "BELLWETHER_CLUSTER"
	envStorage = "BELLWETHER_STORAGE"

	defaultCluster   = "default"
	storageJetStream = "jetstream"
	storageAzure     = "azure"
)

// place says which cluster is meant and where it keeps things.
type place struct {
	cluster string
	storage string
	azure   azureFlags
}

func (p *place) register(flags *pflag.FlagSet) {
	flags.StringVar(&p.cluster, "cluster", "", `the cluster's name (env `+envCluster+`; default "`+defaultCluster+`")`)
	flags.StringVar(&p.storage, "storage", "", `where the cluster keeps things: `+storageJetStream+` or `+storageAzure+` (env `+envStorage+`; default "`+storageJetStream+`")`)
	p.azure.register(flags)
}

// resolve fills in what the environment says and checks it.
func (p place) resolve() (place, wire.Subjects, error) {
	p.cluster = cmp.Or(p.cluster, os.Getenv(envCluster), defaultCluster)
	p.storage = cmp.Or(p.storage, os.Getenv(envStorage), storageJetStream)
	if p.storage != storageJetStream && p.storage != storageAzure {
		return p, wire.Subjects{}, usagef("storage %q is not supported: use %q or %q", p.storage, storageJetStream, storageAzure)
	}
	subjects, err := wire.NewSubjects(p.cluster)
	return p, subjects, usage(err)
}
