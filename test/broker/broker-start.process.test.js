'use strict';

const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const { constants, tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { openLockManager } = require('../../lib/index.js');
const { removeLocks } = require('../support/broker-process.js');
const { linksOf } = require('../support/process-counts.js');

const PROGRAM = path.join(__dirname, 'broker-start-program.js');
/** The stand-in for a packed application runs its main program no more often. */
const MAX_RUNS = 4;
const GUARD_MS = 60_000;

let folder;
let directory;
let standIn;
let files;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  directory = path.join(folder, 'locks');
  standIn = path.join(folder, 'application');
  files = new BrokerFiles('default', directory);
});
afterEach(() => {
  removeLocks(files);
  fs.rmSync(folder, { recursive: true, force: true });
});

/** An application that runs its own program, whatever its arguments, and counts its starts. */
function makeStandIn(text = '', caller = '') {
  const run = `exec '${process.execPath}' '${PROGRAM}' '${standIn}' '${directory}' ${caller}`;
  const guard = `[ "$(wc -l < '${standIn}.starts')" -le ${MAX_RUNS} ] || exit 0`;
  const lines = ['#!/bin/sh', `echo start >> '${standIn}.starts'`, guard, run, text];
  fs.writeFileSync(standIn, lines.join('\n'), { mode: 0o700 });
}

const linesOf = (kind) => {
  const file = `${standIn}.${kind}`;
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim().split('\n') : [];
};

/** @returns {{ name: string, message: string }} the answer of the application */
const runProgram = (...args) =>
  JSON.parse(
    execFileSync(process.execPath, [PROGRAM, standIn, directory, ...args], { timeout: GUARD_MS }),
  );

const FUSES_WITHOUT_RUN_AS_NODE = 'dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX\x01\x080110';

test.each([
  ['pkg', /pkg/],
  ['nexe', /nexe/],
  ['bun', /bun build --compile/],
  ['deno', /deno compile/],
  ['electron', /runAsNode/],
])('a single-file program of %s is refused a broker before anything is started', (packer, sign) => {
  makeStandIn(FUSES_WITHOUT_RUN_AS_NODE);
  const { name, message } = runProgram(packer);
  expect(name).toBe('NotSupportedError');
  expect(message).toMatch(sign);
  expect(message).toContain(standIn);
  expect(linesOf('starts')).toEqual([]);
});

test('one of an unknown packer starts itself once, and both are refused', () => {
  makeStandIn();
  expect(runProgram()).toMatchObject({ name: 'NotSupportedError' });
  expect(linesOf('starts')).toHaveLength(1);
  expect(linesOf('answers')).toEqual(['NotSupportedError', 'NotSupportedError']);
});

test('so does one whose workers have other variables than its process', () => {
  makeStandIn('', 'worker');
  expect(runProgram('worker')).toMatchObject({ name: 'NotSupportedError' });
  expect(linesOf('starts')).toHaveLength(1);
  expect(linesOf('answers')).toEqual(['NotSupportedError', 'NotSupportedError']);
});

test('an interpreter that is gone is an error that says so', () => {
  const { name, message } = runProgram();
  expect(name).toBe('InvalidStateError');
  expect(message).toContain(`spawn ${standIn} ENOENT`);
});

test('the mark of a packed application does not keep an interpreter from starting a broker', async () => {
  files.ensure();
  fs.writeFileSync(path.join(files.folder, 'starting.1'), `no broker: ${standIn}`);
  const locks = openLockManager({ backend: new BrokerBackend({ directory }) });
  expect(await locks.request('a', () => 'granted')).toBe('granted');
  locks.close();
});

const pidOfBroker = () => files.readEpoch(files.highestEpoch()).pid;
const START = `
  const { openLockManager } = require(${JSON.stringify(path.join(__dirname, '../../lib/index.js'))});
  openLockManager({ url: 'broker://${'$DIRECTORY'}' }).acquire('a').then(() => process.send?.(0));
  setTimeout(() => process.exit(1), ${GUARD_MS});
`;

/**
 * A program that starts a broker, by way of a shell.
 * @param {string} line  of the shell, in which $RUN is the program
 * @param {Record<string, string>} [env]
 */
async function startBy(line, env = {}) {
  fs.mkdirSync(directory, { mode: 0o700 });
  const program = START.replace('$DIRECTORY', directory);
  fs.writeFileSync(`${standIn}.js`, program);
  const text = line.replace('$RUN', `'${process.execPath}' '${standIn}.js'`);
  const child = spawn('/bin/sh', ['-c', text], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    cwd: folder,
  });
  try {
    await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code]) => Promise.reject(new Error(`it ended with ${code}`))),
    ]);
    return pidOfBroker();
  } finally {
    child.kill('SIGKILL');
  }
}

const describeOnLinux = process.platform === 'linux' ? describe : describe.skip;
describeOnLinux('a broker', () => {
  test('keeps no descriptor that its starter has inherited', async () => {
    const locked = [`${folder}/first`, `${folder}/second`];
    // A shell redirects single digits; Python has the others.
    const python = `import os,sys; fd=os.open(sys.argv[1],66); os.dup2(fd,200)
os.execv(sys.argv[2],sys.argv[2:])`;
    const words = [process.execPath, `${standIn}.js`].map((word) => `'${word}'`).join(' ');
    const line = `exec 9>'${locked[0]}'; exec python3 -c '${python}' '${locked[1]}' ${words}`;
    const pid = await startBy(line);
    const open = linksOf(pid); // the broker serves its client meanwhile: some are closed just now
    expect(open.filter((target) => locked.includes(target))).toEqual([]);
    expect(open).toContain(path.join(files.realFolder, 'log'));
  });

  test('has nothing of the environment that its starter keeps secret or meant for itself', async () => {
    const env = {
      DATABASE_PASSWORD: 'secret',
      BUN_OPTIONS: '--inspect',
      NODE_OPTIONS: '--no-warnings',
    };
    const pid = await startBy('exec $RUN', env);
    const names = fs.readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
    const inherited = names.filter((name) => /^(DATABASE|BUN|NODE|PATH)/.test(name));
    expect(inherited).toEqual([]);
  });

  const testAsRoot = process.geteuid?.() === 0 ? test : test.skip;
  testAsRoot('is not nice if its starter is, where that can be undone', async () => {
    const pid = await startBy('exec nice -n 7 $RUN');
    expect(require('node:os').getPriority(pid)).toBe(constants.priority.PRIORITY_NORMAL);
  });
});

describeOnLinux('the folders of a broker', () => {
  test('are private, and their parents are of the ordinary mode', async () => {
    directory = path.join(folder, 'a', 'b', 'locks');
    files = new BrokerFiles('default', directory);
    files.ensure();
    const modeOf = (name) => fs.statSync(path.join(folder, name)).mode & 0o777;
    const ordinary = 0o777 & ~process.umask();
    expect(['a', 'a/b', 'a/b/locks'].map(modeOf)).toEqual([ordinary, ordinary, 0o700]);
  });
});
