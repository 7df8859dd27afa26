'use strict';

const { spawnSync } = require('node:child_process');
const { chmodSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { NETWORK_FILE_SYSTEMS } = require('../../lib/backends/directory-access.js');
const { PROGRAM: TOOL } = require('../support/cli.js');
const { GROUP, MEMBERS, STRANGER, as, isPossible, makeShared } = require('../support/members.js');
const { describeWithPreload } = require('../support/preload/index.js');

// Memory of a file that two machines map is not shared, and a socket leads to no process of another
// machine, so locks there would exclude no process. An NFS server that takes the rights of root
// away ("root squash") makes root a user without rights, as the stranger is here.

const LIBRARY = join(__dirname, '..', '..', 'lib', 'index.js');
const NFS = '0x6969';
const TMPFS = '0x01021994';
const EXT4 = '0xEF53';
const FUSE = '0x65735546';

const PROGRAM = `
  const { openLockManager } = require(${JSON.stringify(LIBRARY)});
  const [, scheme, directory] = process.argv;
  const end = (text) => process.stdout.write(text, () => process.exit());
  openLockManager({ url: scheme + '//' + directory })
    .request('a', () => 'granted')
    .then(end, ({ name, message }) => end(name + ': ' + message));`;

test('the native part and the rest have the same network file systems', () => {
  const source = readFileSync(join(__dirname, '../../src/platform/access.cc'), 'utf8');
  const [, list] = /kNetworkFileSystems = \{(.*?)\};/s.exec(source);
  const numbers = [...list.matchAll(/^\s*(0x[0-9A-F]+),/gm)].map(([, number]) => Number(number));
  expect(numbers.length).toBeGreaterThan(1);
  expect(new Set(Object.keys(NETWORK_FILE_SYSTEMS).map(Number))).toEqual(new Set(numbers));
});

describeWithPreload('file-system', 'a network file system', (library) => {
  let root;
  let directory;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'holdfast-'));
    chmodSync(root, 0o755);
    directory = join(root, 'locks');
  });
  afterEach(() => rmSync(root, { recursive: true }));

  /** Runs Node with every file on a file system of this type. */
  function runOn(type, args, words = []) {
    const preload = { LD_PRELOAD: library, HOLDFAST_TEST_FILE_SYSTEM: type };
    const env = { ...process.env, ...preload, NO_COLOR: '1', HOLDFAST_BROKER_IDLE_MS: '100' };
    for (const name of ['HOLDFAST_DIR', 'HOLDFAST_URL', 'HOLDFAST_FALLBACK']) delete env[name];
    const [program, ...rest] = [...words, process.execPath, ...args];
    const { status, stdout, stderr } = spawnSync(program, rest, { encoding: 'utf8', env });
    return { status, stdout, stderr };
  }

  describe.each(['shm:', 'broker:'])('over %s', (scheme) => {
    const use = (type, words) => runOn(type, ['-e', PROGRAM, scheme, directory], words).stdout;
    const REFUSED = /^SecurityError: .* is on a network file system/;

    test('is refused, and no lock table is made there', () => {
      mkdirSync(directory, { mode: 0o700 });
      expect(use(NFS)).toMatch(REFUSED);
      expect(readdirSync(directory)).toEqual([]);
    });

    test('of this machine is none', () => {
      for (const type of [TMPFS, EXT4]) expect(use(type)).toBe('granted');
      const inUserSpace = expect(use(FUSE)); // a local one in a container, maybe
      if (scheme === 'broker:') inUserSpace.toBe('granted');
      else inUserSpace.toMatch(REFUSED);
    });

    const testAsRoot = isPossible ? test : test.skip; // members.js gives the reason

    testAsRoot('is the reason for a user without rights to a shared directory', () => {
      makeShared(directory);
      for (const words of [as(STRANGER), as(MEMBERS[0]), []]) {
        expect(use(NFS, words)).toMatch(REFUSED);
      }
      expect(readdirSync(directory)).toEqual([]);
      expect(use(TMPFS, as(STRANGER))).toMatch(/not a member|no member/);
    });

    testAsRoot("is the reason for a user without rights to a user's directory", () => {
      mkdirSync(directory, { mode: 0o700 });
      expect(use(NFS, as(STRANGER))).toMatch(REFUSED);
      expect(use(TMPFS, as(STRANGER))).toMatch(/another user/);
    });

    testAsRoot('is the reason for a user who may not make the directory', () => {
      expect(use(NFS, as(STRANGER))).toMatch(REFUSED);
      expect(use(TMPFS, as(STRANGER))).toMatch(/cannot (be made|make)/);
    });
  });

  const testAsRoot = isPossible ? test : test.skip;

  testAsRoot('is refused by holdfast share, which makes nothing there', () => {
    const share = [TOOL, 'share', directory, '--group', `${GROUP}`];
    const refused = { status: 69, stdout: '', stderr: expect.stringMatching(/ is on NFS, whose/) };
    expect(runOn(NFS, share)).toEqual(refused);
    expect(readdirSync(root)).toEqual([]);
    mkdirSync(directory);
    chmodSync(directory, 0o755);
    expect(runOn(NFS, share)).toEqual(refused);
    expect(runOn(TMPFS, share).status).toBe(0);
  });

  testAsRoot('is the reason that ls and doctor give to a user without rights', () => {
    makeShared(directory);
    const ofTool = (type, ...args) =>
      runOn(type, [TOOL, ...args, '--directory', directory], as(STRANGER));
    expect(ofTool(NFS, 'ls').stderr).toMatch(/ is on a network file system, NFS/);
    expect(ofTool(NFS, 'doctor').stdout).toMatch(/^FAIL .* is on NFS: /m);
    expect(ofTool(NFS, 'doctor').stdout).not.toMatch(/usermod/);
    expect(ofTool(TMPFS, 'doctor').stdout).toMatch(/usermod/);
    const ofBroker = (type, command) =>
      runOn(type, [TOOL, command, '--url', `broker://${directory}`], as(STRANGER));
    expect(ofBroker(NFS, 'ls').stderr).toMatch(/ is on a network file system, NFS/);
    expect(ofBroker(NFS, 'doctor').stdout).toMatch(/^FAIL .* is on NFS: its sockets/m);
    for (const type of [FUSE, TMPFS]) {
      expect(ofBroker(type, 'ls').stderr).toMatch(/ is shared with group /);
      expect(ofBroker(type, 'doctor').stdout).not.toMatch(/ is on /);
    }
  });
});
