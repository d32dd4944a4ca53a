// Package azurite installs and runs Azurite, which stands in for Azure Storage in
// tests and in the demo.
//
//	package.json, package-lock.json   the version, pinned with all it needs
//	serve.js                          runs it until whoever started it is gone
//
// [Start] installs it with npm into the user's cache directory, once for each
// content of those files, however many processes ask at once. It needs Node.js 20
// or later, and the first time it needs the npm registry. The server listens on
// 127.0.0.1 alone, with the account and key that every Azurite has.
//
// What can fail: there is no Node.js ([ErrNoNode]); npm cannot reach its registry;
// a port that was asked for is taken.
package azurite
