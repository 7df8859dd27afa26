'use strict';

// Another user, once it has loaded everything: tries to get at the bucket of the first one.

const {
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} = require('node:fs');
const { join } = require('node:path');
const { loadBinding } = require('../../lib/binding.js');
const { openLockManager } = require('../../lib/index.js');

loadBinding();
const [user, directory, files, owner] = JSON.parse(process.argv[2]);
process.setgroups([]);
process.setgid(user);
process.setuid(user);

const bucket = join(directory, 'default');
const segment = join(bucket, 'segment');

const openForWriting = (file) =>
  closeSync(openSync(file, constants.O_WRONLY | constants.O_NONBLOCK));

/** The attempts of a stranger. Each has to fail. */
const ATTEMPTS = {
  'open the bucket': async () => openLockManager({ directory }).query(),
  'open another bucket of the directory': async () =>
    openLockManager({ directory, bucket: 'other' }).query(),
  'read the directory': () => readdirSync(directory),
  'read the bucket': () => readdirSync(bucket),
  'read the segment': () => readFileSync(segment),
  'write the segment': () => openForWriting(segment),
  'put a file there': () => writeFileSync(join(bucket, 'mine'), ''),
  'stop the owner': () => process.kill(owner, 'SIGSTOP'),
};
for (const file of files) {
  ATTEMPTS[`ring ${file}`] = () => openForWriting(join(bucket, file));
  ATTEMPTS[`listen to ${file}`] = () => closeSync(openSync(join(bucket, file), 'r'));
}

async function main() {
  const results = {};
  for (const [attempt, act] of Object.entries(ATTEMPTS)) {
    try {
      await act();
      results[attempt] = 'succeeded';
    } catch (error) {
      results[attempt] = error.code === 'EPERM' ? 'EACCES' : (error.code ?? error.name);
      if (error instanceof DOMException) results[attempt] = `${error.name}: ${error.message}`;
    }
  }
  process.send(results);
  process.disconnect();
}

main();
