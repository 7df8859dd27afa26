'use strict';

const { defaultDirectory, toBucketName } = require('../../../lib/backends/bucket-directory.js');

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
