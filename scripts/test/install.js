'use strict';

// npm test -- install [--short] [group…]: the package as it would be published, in empty
// folders without a compiler. Groups: managers, bundlers, next,
// types, binaries (after `npm run prebuilds`), source. Ends with `N passed, N failed`.

const { parseArgs } = require('node:util');
const { StepError } = require('../steps/run.js');
const { GROUPS, runGroups } = require('../../test/install/groups.js');

/** @param {string[]} args */
function main(args) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { short: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
  });

  const unknown = positionals.filter((name) => !(name in GROUPS));
  if (unknown.length > 0) {
    console.error(`there are ${Object.keys(GROUPS).join(', ')}, and no ${unknown.join(', ')}`);
    process.exitCode = 2;
  } else {
    const names = positionals.length > 0 ? positionals : Object.keys(GROUPS);
    runGroups(names, values).catch((error) => {
      if (!(error instanceof StepError)) throw error;
      console.error(error.message);
      process.exitCode = 1;
    });
  }
}

module.exports = { main };
