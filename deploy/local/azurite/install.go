package azurite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrNoNode means that Node.js, which runs Azurite, is not installed.
var ErrNoNode = errors.New("Node.js with npm is not on the PATH: Azurite, the emulator of Azure Storage, " +
	"needs version 20 or later: install it (https://nodejs.org, or your system's packages nodejs and npm)")

const entry = "serve.js"

//go:embed package.json package-lock.json serve.js
var sources embed.FS

var sourceNames = []string{"package.json", "package-lock.json", entry}

// install returns the directory in which Azurite is installed, and installs Azurite if needed. The
// name of the installation's directory contains a digest of the source files. A complete
// installation is renamed to its final name, so an incomplete installation is never used.
func install(ctx context.Context, log *slog.Logger) (string, error) {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("%w: %w", ErrNoNode, err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		// Without a home directory, Azurite is installed in the temporary directory. Each user has
		// a separate directory inside the temporary directory.
		cache = filepath.Join(os.TempDir(), fmt.Sprintf("cache-%d", os.Getuid()))
	}
	cache = filepath.Join(cache, "bellwether")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", err
	}
	name, err := digest()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "azurite-"+name)
	if isDir(dir) {
		return dir, nil
	}
	unlock, err := lock(ctx, filepath.Join(cache, "azurite.lock"))
	if err != nil {
		return "", fmt.Errorf("wait for another process that installs Azurite: %w", err)
	}
	defer unlock()
	if isDir(dir) {
		return dir, nil
	}
	log.Info("Installing Azurite", "dir", dir)
	building, err := os.MkdirTemp(cache, "installing-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(building) }() // after a successful rename there is nothing to remove
	if err := build(ctx, building); err != nil {
		return "", err
	}
	if err := os.Rename(building, dir); err != nil && !isDir(dir) {
		return "", err
	}
	return dir, nil
}

func digest() (string, error) {
	hash := sha256.New()
	for _, name := range sourceNames {
		data, err := sources.ReadFile(name)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(hash, "%s %d\n", name, len(data)) // writing to a hash never fails
		_, _ = hash.Write(data)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

func build(ctx context.Context, dir string) error {
	for _, name := range sourceNames {
		data, err := sources.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci (it needs the npm registry the first time): %w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
