'use strict';

// A user outside of the group of a shared directory: for each list of files it tries everything
// that a user can do with them and with the directory, and answers how many attempts were made and
// which of them succeeded. One JSON argument: the directory, the bucket and its folder, the process
// of a member, and the URL of a broker.

const fs = require('node:fs');
const { join } = require('node:path');
const { openLockManager } = require('../../lib/index.js');

const { directory, bucket, folder, victim, url } = JSON.parse(process.argv[2]);
const { O_NONBLOCK, O_RDWR, O_WRONLY } = fs.constants;

const openWith = (file, flags) => fs.closeSync(fs.openSync(file, flags | O_NONBLOCK));

const ATTEMPTS = {
  list: () => fs.readdirSync(directory),
  'list the bucket': () => fs.readdirSync(folder),
  'put a file': () => fs.writeFileSync(join(folder, 'mine'), ''),
  'put a bucket': () => fs.mkdirSync(join(directory, 'mine')),
  'move the bucket': () => fs.renameSync(folder, join(directory, 'moved')),
  'change the mode': () => fs.chmodSync(directory, 0o2777),
  'change the group': () => fs.chownSync(directory, process.geteuid(), process.getegid()),
  'stop a member': () => process.kill(victim, 'SIGSTOP'),
};
const ATTEMPTS_AT_A_FILE = {
  stat: (file) => fs.statSync(file),
  read: (file) => openWith(file, 0),
  write: (file) => openWith(file, O_WRONLY),
  'read and write': (file) => openWith(file, O_RDWR),
  truncate: (file) => fs.truncateSync(file, 0),
  remove: (file) => fs.unlinkSync(file),
  replace: (file) => fs.symlinkSync('/etc/passwd', file),
  link: (file) => fs.linkSync(file, `/tmp/holdfast-stolen-${process.pid}`),
  open: (file) => fs.chmodSync(file, 0o666),
};

process.on('message', async (files) => {
  const succeeded = [];
  let attempts = 0;
  const make = async (title, act) => {
    attempts += 1;
    try {
      await act();
      succeeded.push(title);
    } catch (error) {
      if (!['EACCES', 'EPERM', 'SecurityError'].includes(error.code ?? error.name)) {
        // DOMException has a numeric code.
        if (error.name !== 'SecurityError') succeeded.push(`${title}: ${error.message}`);
      }
    }
  };
  for (const [title, act] of Object.entries(ATTEMPTS)) await make(title, act);
  for (const [title, act] of Object.entries(ATTEMPTS_AT_A_FILE)) {
    for (const file of files) await make(`${title} ${file}`, () => act(join(folder, file)));
  }
  const locks = openLockManager({ bucket, ...(url === undefined ? { directory } : { url }) });
  await make('open the table', () => locks.query());
  locks.close();
  process.send({ attempts, succeeded });
});
process.on('disconnect', () => process.exit());
process.send('ready');
