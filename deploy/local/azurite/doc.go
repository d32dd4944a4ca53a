// Package azurite installs and runs Azurite, the emulator of Azure Storage, for tests,
// the demo and clusters on one machine.
//
//	package.json, package-lock.json   pin the versions of Azurite and its dependencies
//	serve.js                          runs Azurite until the process that started it ends
//
// [Start] installs Azurite with npm into the user's cache directory, once per content of
// those files, even if several processes start it at once. It needs Node.js 20 or later,
// and the first time it needs the npm registry. The server listens on 127.0.0.1 only. Its
// account and key are those of every Azurite.
//
// What can fail: Node.js is not installed ([ErrNoNode]); npm cannot reach its registry; a
// configured port is in use.
package azurite
