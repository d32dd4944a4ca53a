// Package azurite installs and runs Azurite, the emulator of Azure Storage, for tests,
// the demo and clusters on one machine.
//
//	package.json, package-lock.json   pin the versions of Azurite and its dependencies
//	serve.js                          runs Azurite until the process that started it ends
//
// [Start] installs Azurite with npm into the user's cache directory if it is missing or its source
// files have changed. If several processes call Start at once, only one of them installs Azurite.
// Start needs Node.js 20 or later and, for the installation, the npm registry. The Azurite server
// listens only on 127.0.0.1. All Azurite servers have the same account name and key.
//
// Start fails if Node.js is not installed ([ErrNoNode]), if npm cannot reach its registry, or if a
// configured port is in use.
package azurite
