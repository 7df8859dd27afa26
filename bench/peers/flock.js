'use strict';

// flock(2) by an addon: one thread of libuv's pool waits in the kernel for each request.

const fs = require('node:fs');
const path = require('node:path');

function whyNot() {
  try {
    require('fs-ext');
    return undefined;
  } catch {
    return 'fs-ext is not built';
  }
}

/** @param {import('./peers.js').PeerSetup} setup */
function open({ directory, name }) {
  const { flock } = require('fs-ext');
  const fd = fs.openSync(path.join(directory, `${name}.flock`), 'a');
  const change = (how) =>
    new Promise((resolve, reject) => {
      flock(fd, how, (error) => (error ? reject(error) : resolve(undefined)));
    });
  const run = async (section) => {
    await change('ex');
    try {
      return await section();
    } finally {
      await change('un');
    }
  };
  return { run, close: () => fs.closeSync(fd) };
}

module.exports = { instances: 2, open, whyNot };
