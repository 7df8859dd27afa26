'use strict';

// No lock: two round trips over a Unix socket to another process of Node, which writes each line
// into a file before it answers. The least that a lock costs whose broker may die.

const { openEcho, serveEcho } = require('./echo.js');

/** @param {string} directory */
const serve = (directory) => serveEcho(directory, `${directory}/notes`);

/** @param {import('./peers.js').PeerSetup} setup */
async function open(setup) {
  const { run, close } = await openEcho(setup);
  return {
    async run(section) {
      await run(() => {});
      const result = section();
      await run(() => {});
      return result;
    },
    close,
  };
}

module.exports = { open, serve };
