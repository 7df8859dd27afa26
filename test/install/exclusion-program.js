'use strict';

// Copied into the project that holdfast was installed in: one process holds a lock, another one is
// refused it, waits for it, and gets it. Prints the files of the package that were loaded, as JSON.

const { fork } = require('node:child_process');
const { readFileSync, writeFileSync } = require('node:fs');

const CHILD = `
import { locks } from 'holdfast';
const refused = await locks.request('a', { ifAvailable: true }, (lock) => lock === null);
process.send({ refused });
const waiting = locks.request('a', (lock) => String(lock.token));
process.send({ token: await waiting });
process.disconnect();
`;

const addonFile = () =>
  /(\/.*\/holdfast\.node)$/m.exec(readFileSync('/proc/self/maps', 'utf8'))?.[1];

async function main() {
  const { locks } = require('holdfast');
  const child = './exclusion-child.mjs';
  writeFileSync(child, CHILD);
  const held = await locks.request('a', async (lock) => {
    const other = fork(child);
    other.once('exit', (status) => {
      if (status !== 0) process.exit(1);
    });
    const message = () => new Promise((resolve) => other.once('message', resolve));
    const { refused } = await message();
    if (!refused) throw new Error('the other process was given a lock that is held here');
    return { token: String(lock.token), granted: message() };
  });
  const { token } = await held.granted;
  if (!(BigInt(token) > BigInt(held.token)))
    throw new Error('the other process has an older token');
  const { locks: again } = await import('holdfast');
  if (again !== locks) throw new Error('import and require give two instances');
  console.log(JSON.stringify({ addon: addonFile() }));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
