// Package azurite installs and runs Azurite, the emulator of Azure Storage, for tests,
// the demo and clusters on one machine.
//
//	package.json, package-lock.json   pin the versions of Azurite and its dependencies
//	serve.js                          runs Azurite until the process that started it ends
//
// [Start] installs Azurite with npm into the user's cache directory, once per content of
// the files above, even if several processes call Start at once. Start needs Node.js 20
// or later and, the first time, the npm registry. The server listens on 127.0.0.1 only.
// The account and key are the same for every Azurite.
//
// What can fail: Node.js is not installed ([ErrNoNode]); npm cannot reach its registry; a
// configured port is in use.
package azurite
