'use strict';

const fs = require('node:fs');
const path = require('node:path');

/** @param {import('./peers.js').PeerSetup} setup */
function open({ directory, name }) {
  const { lock } = require('proper-lockfile');
  const file = path.join(directory, name);
  fs.closeSync(fs.openSync(file, 'a'));
  // The retries are a list that is made for each lock: a short one, used over and over.
  const times = { retries: 2, forever: true, factor: 1, minTimeout: 1, maxTimeout: 2 };
  const run = async (section) => {
    const release = await lock(file, { retries: times });
    try {
      return await section();
    } finally {
      await release();
    }
  };
  return { run };
}

module.exports = { open };
