package console

import (
	"errors"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bellwether-compute/bellwether/jobs/cluster"
	"github.com/bellwether-compute/bellwether/jobs/field"
)

// origin is where the value of a field comes from: a flag or an environment variable.
type origin struct{ flag, env string }

// origins maps the fields of cluster.Config, client.SubmitOptions, worker.Config and jobs.Grant that
// [field.Error] can name to the flags and variables that set them.
var origins = map[string]origin{
	"Storage":  {"storage", cluster.EnvStorage},
	"Replicas": {"replicas", cluster.EnvReplicas},

	"After":            {flag: "after"},
	"Priority":         {flag: "priority"},
	"Name":             {flag: "name"},
	"Labels":           {flag: "label"},
	"MaxAttempts":      {flag: "max-attempts"},
	"MaxSkipped":       {flag: "max-skipped"},
	"Timeout":          {flag: "timeout"},
	"PartitionTimeout": {flag: "partition-timeout"},
	"StopAfter":        {flag: "stop-after"},
	"From":             {flag: "from"},

	"Slots":                   {flag: "slots"},
	"Lease":                   {flag: "lease"},
	"DrainTimeout":            {flag: "drain-timeout"},
	"Memory":                  {flag: "memory"},
	"SpillDir":                {flag: "spill-dir"},
	"MeanTimeBetweenFailures": {flag: "mtbf"},
	"MaxWorkers":              {flag: "max-workers"},

	"Programs":   {"exec-programs", EnvPrograms},
	"Containers": {"containers", EnvContainers},
	"Web":        {"web", EnvWeb},
}

// NameFlag returns the error of a command. If it is about a field of a configuration, NameFlag
// names the flag or the environment variable that the user has set instead of the field.
func NameFlag(cmd *cobra.Command, err error) error {
	of, ok := errors.AsType[*field.Error](err)
	if !ok {
		return err
	}
	from := origins[of.Field]
	flag, env := cmd.Flag(from.flag), os.Getenv(from.env)
	switch {
	case flag != nil && flag.Changed && flag.Value.Type() == "string":
		return Usagef("--%s %q: want %s", from.flag, flag.Value, of.Want)
	case flag != nil && flag.Changed:
		return Usagef("--%s %s: want %s", from.flag, flag.Value, of.Want)
	case env != "":
		return Usagef("%s %q: want %s", from.env, env, of.Want)
	}
	return err
}

// RefuseZero makes flags refuse the value 0, which would select the default of the field that they
// set.
func RefuseZero(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		flag := cmd.Flag(name)
		flag.Value = notZero{flag.Value}
	}
}

type notZero struct{ pflag.Value }

func (v notZero) Set(text string) error {
	if err := v.Value.Set(text); err != nil {
		return err
	}
	if value := v.String(); value == "0" || value == "0s" {
		return errors.New("want more than 0")
	}
	return nil
}
