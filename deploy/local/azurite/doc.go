// Package azurite installs and runs Azurite, the emulator of Azure Storage, for tests,
// the demo and clusters on one machine.
//
//	package.json, package-lock.json   pin the versions of Azurite and its dependencies
//	serve.js                          runs Azurite until the process that started it ends
//
// [Start] installs Azurite with npm into the user's cache directory, and again only when the files
// above have changed. If several processes call Start at once, only one of them installs Azurite.
// Start needs Node.js 20 or later and, the first time, the npm registry. The server listens only on
// 127.0.0.1. Every Azurite has the same account name and key.
//
// What can fail: Node.js is not installed ([ErrNoNode]); npm cannot reach its registry; a
// configured port is in use.
package azurite
