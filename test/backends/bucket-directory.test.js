'use strict';

const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { defaultDirectory, toBucketName } = require('../../lib/backends/bucket-directory.js');

const MODULE = path.join(__dirname, '../../lib/backends/bucket-directory.js');

describe('the default directory', () => {
  const before = process.env.HOLDFAST_DIR;
  afterEach(() => {
    if (before === undefined) delete process.env.HOLDFAST_DIR;
    else process.env.HOLDFAST_DIR = before;
  });

  test('belongs to the effective user, whatever the working directory is', () => {
    delete process.env.HOLDFAST_DIR;
    expect(defaultDirectory()).toBe(`/dev/shm/holdfast-${process.geteuid()}`);
  });

  test('is another one when HOLDFAST_DIR says so', () => {
    process.env.HOLDFAST_DIR = '/somewhere/else';
    expect(defaultDirectory()).toBe('/somewhere/else');
  });

  test('is never relative: it would depend on where a process was started', () => {
    process.env.HOLDFAST_DIR = 'somewhere/else';
    expect(defaultDirectory).toThrow(TypeError);
  });
});

describe('the name of a bucket', () => {
  test.each(['default', 'a', 'A-b_c.9', 'x'.repeat(64)])('%s can be one', (name) => {
    expect(toBucketName(name)).toBe(name);
  });

  test.each(['', '.', '..', '.hidden', 'a/b', 'a b', 'é', 'a\0', 'x'.repeat(65)])(
    '%j cannot be one',
    (name) => {
      expect(() => toBucketName(name)).toThrow(TypeError);
    },
  );
});

describe('a user namespace', () => {
  const NOBODY = 65_534;
  const asNobody = (...command) =>
    spawnSync(
      'setpriv',
      ['--reuid', `${NOBODY}`, '--regid', `${NOBODY}`, '--clear-groups', ...command],
      {
        encoding: 'utf8',
      },
    );
  const isRoot = process.geteuid() === 0;
  const canEnter = isRoot && asNobody('unshare', '--user', '--map-root-user', 'true').status === 0;

  (canEnter ? test : test.skip)(
    'of an ordinary user has the directory of that user, not root’s',
    () => {
      const program = `
      const { defaultDirectory } = require(${JSON.stringify(MODULE)});
      delete process.env.HOLDFAST_DIR;
      console.log(process.geteuid(), defaultDirectory());`;
      const inside = ['unshare', '--user', '--map-root-user'];
      const { stdout } = asNobody(...inside, process.execPath, '--eval', program);
      expect(stdout).toBe(`0 /dev/shm/holdfast-${NOBODY}\n`);
    },
  );
});
