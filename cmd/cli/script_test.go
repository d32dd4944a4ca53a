package cli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// TestScripts runs the scripts. Scripts inherit only GORACE from the caller's environment.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                scriptCommands,
		Condition: func(name string) (bool, error) {
			if name == "azurite" {
				return azuritetest.Wanted(), nil
			}
			return false, fmt.Errorf("condition %q is not known", name)
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("DEMO_LIMIT", demoLimit)
			env.Setenv("GORACE", os.Getenv("GORACE"))
			lines, err := filepath.Abs("../../jobs/wasm/examples/lines/lines.wasm")
			if err != nil {
				return err
			}
			env.Setenv("LINES_WASM", lines)
			return offerAzurite(t, env)
		},
	})
}

// offerAzurite gives scripts correct and wrong credentials for Azurite. Azurite is not installed
// again if another test of this user has installed it.
func offerAzurite(t *testing.T, env *testscript.Env) error {
	if !azuritetest.Wanted() {
		return nil
	}
	server := azuritetest.Server(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	env.Setenv("XDG_CACHE_HOME", cache)
	right := server.ConnectionString()
	env.Setenv("AZURITE", right)
	env.Setenv("WRONG_KEY", strings.Replace(right, "AccountKey=Eby8", "AccountKey=Abcd", 1))
	env.Setenv("NOBODY_THERE", azurite.ConnectionString("http://127.0.0.1:1/x", "http://127.0.0.1:1/x"))
	return os.WriteFile(filepath.Join(env.WorkDir, "connection"), []byte(right+"\n"), 0o600)
}

// scriptCommands are the commands of scripts in addition to testscript's own commands.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"await":     await,
	"status":    wantStatus,
	"dev":       startDev,
	"keep":      keepLine,
	"container": makeContainer,
}

// makeContainer makes a container in Azurite.
func makeContainer(ts *testscript.TestScript, _ bool, args []string) {
	a, err := account.Open(account.Config{ConnectionString: ts.Getenv("AZURITE")})
	ts.Check(err)
	defer a.Close()
	c, err := a.Container(args[0], account.Retry{Within: time.Second})
	ts.Check(err)
	_, err = c.Create(context.Background(), nil)
	ts.Check(err)
}
