// Runs Azurite until standard input ends. It ends when the process that started
// this one closes it or is gone, however that came about, so that no Azurite is
// left behind.
'use strict';

let ending = false;
function end() {
  if (ending) return;
  ending = true;
  process.kill(process.pid, 'SIGTERM'); // on which Azurite closes its files
  setTimeout(() => process.exit(0), 2000).unref();
}
process.stdin.on('end', end).on('close', end).on('error', end).resume();

// Ctrl-C in a terminal reaches every process of a group. Whoever started this one
// decides when it ends: what it runs beside may still have something to store.
const once = process.once;
process.once = function (event, listener) {
  return event === 'SIGINT' ? process : once.call(process, event, listener);
};
process.on('SIGINT', () => {});

// Azurite runs with --disableTelemetry, but loading the library of telemetry would take most of the processor time of a
// start.
const telemetry = require.resolve('applicationinsights');
require.cache[telemetry] = { id: telemetry, filename: telemetry, loaded: true, exports: {} };

require('azurite/dist/src/azurite.js');
