'use strict';

const path = require('node:path');
const { commandFor, folderNameOf, platformOf } = require('../../lib/backends/broker/platform.js');
const { sendSignal } = require('../support/broker-process.js');

const USER = { uid: 501, homedir: () => '/Users/ann' };

test.each([
  ['linux', '/dev/shm/holdfast-501'],
  ['darwin', '/Users/ann/Library/Caches/holdfast'],
  ['freebsd', '/Users/ann/.cache/holdfast'],
])('the directory on %s depends on the user alone', (name, directory) => {
  expect(platformOf(name).directory(USER)).toBe(directory);
});

test('the directory on Windows is in the profile', () => {
  expect(platformOf('win32').directory({ uid: -1, homedir: () => 'C:\\Users\\ann' })).toBe(
    'C:\\Users\\ann\\AppData\\Local\\holdfast',
  );
});

test('only a refusal on Linux and Windows proves that the listener is gone', () => {
  const proofs = ['linux', 'darwin', 'win32', 'sunos'].map(
    (name) => platformOf(name).isRefusalProof,
  );
  expect(proofs).toEqual([true, false, true, false]);
});

test.each([
  ['linux', ['SIGSTOP', 'SIGCONT', 'SIGKILL']],
  ['darwin', ['SIGSTOP', 'SIGCONT', 'SIGKILL']],
  ['win32', ['SIGKILL']],
])('the stress test sends the signals that there are on %s', (name, expected) => {
  const sent = [];
  const target = { kill: (signal) => sent.push(signal) };
  for (const signal of ['SIGSTOP', 'SIGCONT', 'SIGKILL']) {
    sendSignal(target, signal, platformOf(name));
  }
  expect(sent).toEqual(expected);
});

test('the folders of buckets differ also where upper and lower case do not', () => {
  const names = ['jobs', 'Jobs', 'JOBS', 'jobs.', 'con', 'a-b_c.1'].map(folderNameOf);
  expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^~[a-z0-9._^-]+~$/);
});

test('the broker is started by the runtime that runs, without what is meant for this process', () => {
  process.env.NODE_UNIQUE_ID = '7';
  try {
    const { file, args, env } = commandFor('/x.js', ['{}'], { node: '24.0.0' });
    expect(file).toBe(process.execPath);
    expect(args.slice(-2)).toEqual(['/x.js', '{}']);
    expect(Object.keys(env)).not.toContain('NODE_UNIQUE_ID');
    expect(path.isAbsolute(file)).toBe(true);
  } finally {
    delete process.env.NODE_UNIQUE_ID;
  }
  expect(commandFor('/x.js', [], { deno: '2' }).args).toEqual(['run', '-A', '/x.js']);
  expect(commandFor('/x.js', [], { bun: '1' }).args).toEqual(['--smol', '/x.js']);
  expect(commandFor('/x.js', [], { electron: '30' }).env.ELECTRON_RUN_AS_NODE).toBe('1');
});
