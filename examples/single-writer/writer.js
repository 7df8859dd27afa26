'use strict';

// A process that writes entries into the journal, each with the number after the last one: it
// reads, thinks, and writes. That is only right when no other process writes in the meantime.

const { once } = require('node:events');
const { setImmediate: think } = require('node:timers/promises');
const { openLockManager } = require('holdfast');
const { openStore } = require('./store.js');

/** @typedef {{ directory: string, path: string, entries: number, withLock: boolean }} Task */

/** @type {Task} */
const { directory, path, entries, withLock } = JSON.parse(process.argv[2]);
const locks = openLockManager({ directory, bucket: 'journal' });

async function write() {
  const store = openStore(path);
  const number = store.lastNumber() + 1;
  await think();
  store.append({ number, writer: String(process.pid) });
}

async function writeAll() {
  await locks.query(); // attaches
  process.send?.('ready');
  await once(process, 'message');
  let failures = 0;
  for (let i = 0; i < entries; i += 1) {
    const written = withLock ? locks.request('journal', write) : write();
    await written.catch(() => (failures += 1)); // "database is locked"
  }
  process.send?.({ failures }, () => process.disconnect());
}

writeAll();
