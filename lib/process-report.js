'use strict';

/**
 * Node's diagnostic report of this process, without its connections: Node looks their names up in
 * the network, with the thread blocked. It takes milliseconds.
 * @returns {any} undefined where there is none, as on Deno
 */
function readProcessReport() {
  const report = /** @type {any} */ (process.report);
  if (report === undefined) return undefined;
  const { excludeNetwork } = report;
  try {
    if (excludeNetwork === false) report.excludeNetwork = true;
    return report.getReport();
  } finally {
    if (excludeNetwork === false) report.excludeNetwork = false;
  }
}

module.exports = { readProcessReport };
