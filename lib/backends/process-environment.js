'use strict';

const { isWorker } = require('../node-internals.js');

/**
 * A variable of the environment. A worker whose own `env` lacks the variable uses its process's:
 * locks of one process are not to be in two places.
 * @param {string} name
 * @returns {string | undefined} an empty variable counts as unset, as in most programs
 */
function variable(name) {
  const own = process.env[name];
  if (own || !isWorker()) return own || undefined;
  try {
    const { loadBinding } = require('../binding.js');
    return loadBinding().variable(name) || undefined;
  } catch {
    // There is no native part: Node's report has the environment of the process. Deno has neither.
    const { readProcessReport } = require('../process-report.js');
    return readProcessReport()?.environmentVariables?.[name] || undefined;
  }
}

module.exports = { variable };
