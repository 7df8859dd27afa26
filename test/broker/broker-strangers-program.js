'use strict';

// Another user, once it has loaded everything: tries to get at a broker of the first one.
// Arguments: one JSON array, [user, directory, files, broker, groups].

const fs = require('node:fs');
const net = require('node:net');
const { join } = require('node:path');
const { openLockManager } = require('../../lib/index.js');

const [user, directory, files, broker, groups = []] = JSON.parse(process.argv[2]);
openLockManager({ url: `broker://${directory}` }).close();
process.setgroups(groups);
process.setgid(user);
process.setuid(user);

const connectTo = (socket) =>
  new Promise((resolve, reject) => net.connect(socket, resolve).on('error', reject));

/** The attempts of a stranger. Each has to fail. */
const ATTEMPTS = {
  'open the bucket': () => openLockManager({ url: `broker://${directory}` }).query(),
  'read the directory': () => fs.readdirSync(directory),
  'put a folder there': () => fs.mkdirSync(join(directory, 'mine')),
  'stop the broker': () => process.kill(broker, 'SIGSTOP'),
};
for (const { file, isSocket } of files) {
  const path = join(directory, file);
  ATTEMPTS[`remove ${file}`] = () => fs.rmSync(path);
  if (isSocket) ATTEMPTS[`connect to ${file}`] = () => connectTo(path);
  else ATTEMPTS[`read ${file}`] = () => fs.readFileSync(path);
}

async function main() {
  const results = {};
  for (const [attempt, act] of Object.entries(ATTEMPTS)) {
    try {
      await act();
      results[attempt] = 'succeeded';
    } catch (error) {
      results[attempt] = error instanceof DOMException ? error.name : error.code;
    }
  }
  process.send(results, () => process.disconnect());
}

main();
