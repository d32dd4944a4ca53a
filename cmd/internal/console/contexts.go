package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/bellwether-compute/bellwether/jobs/cluster"
)

// Contexts are the named sets of connection flags of a user, in the file contexts.json of the user's folder for
// configurations. Only the user can read the file, because a context may have a password.
type Contexts struct {
	Current string                       `json:"current"`  // context that is used if a command names none; may be empty
	Named   map[string]map[string]string `json:"contexts"` // values of flags, by the name of the context and of the flag
}

func contextsFile() (string, error) {
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for contexts: %w", err)
	}
	return filepath.Join(folder, "bellwether", "contexts.json"), nil
}

// ReadContexts reads the contexts of the user, of which there may be none.
func ReadContexts() (c Contexts, err error) {
	file, err := contextsFile()
	if err != nil {
		return c, err
	}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("read the contexts in %s: %w", file, err)
	}
	if c.Named == nil {
		c.Named = map[string]map[string]string{}
	}
	return c, nil
}

// Write replaces the contexts of the user.
func (c Contexts) Write() error {
	file, err := contextsFile()
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = replaceFile(file, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the contexts to %s: %w", file, err)
	}
	return nil
}

// replaceFile writes a file that only the user can read. A reader sees the old or the new content.
func replaceFile(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".contexts-*") // has the mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Get returns the values of the flags of a context.
func (c Contexts) Get(name string) (map[string]string, error) {
	values, ok := c.Named[name]
	if !ok {
		names := slices.Sorted(maps.Keys(c.Named))
		if near := didYouMean(name, "", names); near != "" {
			return nil, Usagef("there is no context %q%s", name, near)
		}
		return nil, Usagef("there is no context %q: 'context list' shows the contexts, and 'context add' adds one", name)
	}
	return values, nil
}

// connectionFlags are the flags that a context may set. If a flag of a group is given on the command line, the
// command line sets the whole group, so that credentials of a context are not sent to another server.
var connectionFlags = [][]string{
	{"cluster"},
	{"storage"},
	{"replicas"},
	{"azure-url", "azure-connection-file"},
	{"nats", "creds", "nkey", "user", "password", "tlscert", "tlskey", "tlsca"},
}

// pathFlags are the connection flags whose values are names of files.
var pathFlags = []string{"azure-connection-file", "creds", "nkey", "tlscert", "tlskey", "tlsca"}

const contextFlag = "context"

// isConnection reports whether a flag selects the cluster or configures the connection to it.
func isConnection(flag string) bool {
	return flag == contextFlag || slices.ContainsFunc(connectionFlags, func(group []string) bool { return slices.Contains(group, flag) })
}

// ContextOf returns the values of the connection flags on the command line, for a context. Names of files are made
// absolute, because the context is used in other folders.
func (f *TargetFlags) ContextOf() (map[string]string, error) {
	values := map[string]string{}
	for _, name := range slices.Concat(connectionFlags...) {
		flag := f.flags.Lookup(name)
		if !flag.Changed {
			continue
		}
		value := flag.Value.String()
		if slices.Contains(pathFlags, name) {
			absolute, err := filepath.Abs(value)
			if err != nil {
				return nil, fmt.Errorf("--%s: %w", name, err)
			}
			value = absolute
		}
		values[name] = value
	}
	return values, nil
}

// UseContext sets the flags from the context that the flag --context names. If the flag is absent and current is
// true, it uses the current context, unless environment variables name a cluster or a connection.
func (f *TargetFlags) UseContext(current bool) error {
	if f.context == "" && (!current || variablesSet()) {
		return nil
	}
	contexts, err := ReadContexts()
	if err != nil {
		if f.context == "" {
			return nil // without a home folder there are no contexts
		}
		return err
	}
	name := f.context
	if name == "" {
		name = contexts.Current
	}
	if name == "" {
		return nil
	}
	values, err := contexts.Get(name)
	if err != nil {
		return err
	}
	f.inContext = true
	for _, group := range connectionFlags {
		if slices.ContainsFunc(group, func(flag string) bool { return f.flags.Lookup(flag).Changed }) {
			continue
		}
		for _, flag := range group {
			if value, ok := values[flag]; ok {
				if err := f.flags.Lookup(flag).Value.Set(value); err != nil {
					return Usagef("context %q has --%s %q: %w", name, flag, value, err)
				}
			}
		}
	}
	return nil
}

// variablesSet reports whether an environment variable names a cluster or a connection.
func variablesSet() bool {
	return slices.ContainsFunc(cluster.Variables(), func(name string) bool { return os.Getenv(name) != "" })
}

// HideConnection hides the connection flags from help, or shows them again.
func (f *TargetFlags) HideConnection(hidden bool) {
	f.flags.VisitAll(func(flag *pflag.Flag) {
		if isConnection(flag.Name) {
			flag.Hidden = hidden
		}
	})
}

// ConnectionHelp returns the help for the connection flags.
func (f *TargetFlags) ConnectionHelp() string {
	set := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	f.flags.VisitAll(func(flag *pflag.Flag) {
		if isConnection(flag.Name) {
			set.AddFlag(flag)
		}
	})
	return strings.TrimRight(set.FlagUsages(), "\n")
}
