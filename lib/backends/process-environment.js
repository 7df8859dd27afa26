'use strict';

const { isWorker } = require('../node-internals.js');

/**
 * A variable of the process's environment, also in a worker with a different `env`: locks of one
 * process are not to be in two places.
 * @param {string} name
 * @returns {string | undefined} an empty variable counts as unset, as in most programs
 */
function variable(name) {
  if (!isWorker()) return process.env[name] || undefined;
  try {
    const { loadBinding } = require('../binding.js');
    return loadBinding().variable(name) || undefined;
  } catch {
    // There is no native part: Node's report has the environment of the process. Deno has neither.
    const { readProcessReport } = require('../process-report.js');
    const { environmentVariables } = readProcessReport() ?? {};
    return (environmentVariables ?? process.env)[name] || undefined;
  }
}

module.exports = { variable };
