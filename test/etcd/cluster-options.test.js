'use strict';

const { inspect } = require('node:util');
const { examineEtcd, openEtcdBackend } = require('../../lib/etcd.js');
const { openLockManager } = require('../../lib/index.js');
const { toClusterOptions } = require('../../lib/backends/etcd/cluster-options.js');

describe('a URL of an etcd cluster', () => {
  test('names hosts, a prefix and a time to live', () => {
    expect(toClusterOptions('etcd://a:1,b,[::1]:3/my/app?ttl=30', { bucket: 'b' })).toMatchObject({
      endpoints: ['a:1', 'b:2379', '[::1]:3'],
      prefix: 'my/app',
      ttlMs: 30_000,
      bucket: 'b',
      isEncrypted: false,
    });
  });

  test('has defaults', () => {
    expect(toClusterOptions('etcds://a')).toMatchObject({
      endpoints: ['a:2379'],
      prefix: 'holdfast',
      ttlMs: 10_000,
      bucket: 'default',
      isEncrypted: true,
    });
  });

  test('may have an @ in its prefix', () => {
    expect(toClusterOptions('etcd://a/me@team').prefix).toBe('me@team');
  });

  test('carries a user and a password, percent-encoded', () => {
    const { user, password } = toClusterOptions('etcd://me:p%40%3Ass@a');
    expect([user, password]).toEqual(['me', 'p@:ss']);
  });

  test.each([
    'etcd:',
    'etcd://',
    'etcd://a:0',
    'etcd://a:70000',
    'etcd://a,,b',
    'etcd://a?ttl=1',
    'etcd://a?ttl=1.5',
    'etcd://a?timeout=3',
    'etcd://a/%zz',
    'etcd://me@a?passwordFile=',
    'etcds://a?ca=',
    'http://a',
  ])('%s is refused', (url) => {
    expect(() => toClusterOptions(url)).toThrow(TypeError);
  });

  test.each([[undefined], [null], [{}]])('%p is refused, and named', (url) => {
    expect(() => toClusterOptions(url)).toThrow(/^Expected a URL of an etcd cluster, not \w+$/);
  });

  test('null is an empty dictionary of options, and no object is none', async () => {
    expect(toClusterOptions('etcd://a', null)).toEqual(toClusterOptions('etcd://a'));
    const refusal = new TypeError('The value is not a EtcdOptions object');
    expect(() => openEtcdBackend('etcd://a', 'ca')).toThrow(refusal);
    await expect(examineEtcd('etcd://a', 5)).rejects.toThrow(refusal);
  });

  test('the name of the bucket is a string', () => {
    expect(toClusterOptions('etcd://a', { bucket: 5 }).bucket).toBe('5');
  });

  test.each(['ca', 'cert', 'key'])('a member %s of another type is refused, and named', (name) => {
    expect(() => toClusterOptions('etcds://a', { [name]: 5 })).toThrow(
      new TypeError(`The member '${name}' is neither a string nor bytes`),
    );
  });

  test('without TLS no certificate is taken', () => {
    expect(() => toClusterOptions('etcd://a', { ca: 'pem' })).toThrow(/certificates need etcds:/);
  });

  test.each([
    ['ca', 'etcds://a?ca=/no/such/file'],
    ['cert', 'etcds://a?cert=/no/such/file'],
    ['key', 'etcds://a?key=/'],
    ['passwordFile', 'etcd://me@a?passwordFile=/no/such/file'],
  ])('a file of the parameter %s that cannot be read is named', (parameter, url) => {
    const message = `The file of '${parameter}' in '${url}' cannot be read: E(NOENT|ISDIR): `;
    expect(() => toClusterOptions(url)).toThrow(
      expect.objectContaining({
        name: 'InvalidStateError',
        message: expect.stringMatching(message.replace('?', '\\?')),
      }),
    );
  });

  test('a password is no parameter, and the error says so without it', () => {
    for (const [url, shown] of [
      ['etcd://a?password=secret', "'etcd://a?password=…'"],
      ['etcd://a?password=secret&ttl=10', "'etcd://a?password=…&ttl=10'"],
    ]) {
      expect(() => toClusterOptions(url)).toThrow(
        `${shown} is no URL of an etcd cluster: the parameter 'password' is unknown`,
      );
    }
  });

  test('its scheme may have upper case', () => {
    expect(toClusterOptions('ETCDS://a')).toMatchObject({ isEncrypted: true });
    expect(() => openLockManager({ url: 'ETCD://a:0' })).toThrow(/'a:0' is no host/);
  });

  test.each([
    'etcd://me:secret@a?nothing=1',
    'etcd://a?password=se@cret',
    'etcd://me:se/cret@a',
    'etcd://me:se?cret@a',
    'etcd://me:se#cret@a',
    'etcd://me:se@cret@a',
    'etcd://me:12?cret@a',
    'etcd://joe@example.com:secret@a',
    'etcd://joe@example.com:se/cret@a',
    'me:secret@a/p',
    'ETCD://me:secret@a?nothing=1',
  ])('an error does not show the password of %s', (url) => {
    for (const use of [toClusterOptions, (text) => openLockManager({ url: text })]) {
      let error;
      try {
        use(url);
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toBeInstanceOf(TypeError);
      expect(error.message).not.toMatch(/cret|'[^']*se'/);
      expect(inspect({ ...error }, { depth: 9 })).toBe('{}');
      expect(error.cause).toBeUndefined();
    }
  });
});
