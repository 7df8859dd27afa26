'use strict';

// npm test -- postgres: the tests of locks in PostgreSQL, each file with a new server.
// Arguments go to Jest. HOLDFAST_POSTGRES names the folder of the server's programs; else the
// server of this system is installed, and its newest version is used.

const { conclude, runJsTests } = require('../steps/suites.js');
const { ensureToolchain } = require('../steps/toolchain.js');

/** @param {string[]} args */
function main(args) {
  conclude([
    {
      title: 'Locks in PostgreSQL',
      run() {
        if (!process.env.HOLDFAST_POSTGRES) ensureToolchain('postgresql');
        return runJsTests({ report: 'postgres', args, env: { HOLDFAST_JEST: 'postgres' } });
      },
    },
  ]);
}

module.exports = { main };
