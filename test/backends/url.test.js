'use strict';

const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { shownUrl } = require('../../lib/backends/shown-url.js');
const { openByUrl } = require('../../lib/backends/url.js');
const { openLockManager } = require('../../lib/index.js');
const { removeLocks } = require('../support/broker-process.js');

let directory;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'holdfast url '))));
afterEach(() => {
  delete process.env.HOLDFAST_URL;
  removeLocks(new BrokerFiles('jobs', directory));
});

/** Whether what one of the lock managers holds keeps the other out. */
async function share(one, other) {
  const holder = await one.acquire('a');
  const taken = await other.acquire('a', { ifAvailable: true });
  holder.release();
  taken?.release();
  one.close();
  other.close();
  return taken === null;
}

const shmUrl = () => pathToFileURL(directory).href.replace('file:', 'shm:');

test('shm: with a directory is the place that the member `directory` names', async () => {
  const [one, other] = [openLockManager({ url: shmUrl() }), openLockManager({ directory })];
  expect(await share(one, other)).toBe(true);
});

test('local: is shared by the lock managers of a bucket in one thread', async () => {
  const open = (bucket) => openLockManager({ url: 'local:', bucket });
  expect(await share(open('x'), open('x'))).toBe(true);
  expect(await share(open('x'), open('y'))).toBe(false);
});

test.each(['shm:', 'broker:', 'local:'])('%s knows the name of its bucket', (scheme) => {
  const url = scheme === 'local:' ? scheme : shmUrl().replace('shm:', scheme);
  const backend = openByUrl({ url, bucket: 'jobs' });
  expect(backend.bucket).toBe('jobs');
  backend.close();
});

test.each([
  ['etcd://me:se/cret@a/b', 'etcd://me:…@a/b'],
  ['etcds://me:p%40ss@a:1,b:2/x@y?ttl=3', 'etcds://me:…@a:1,b:2/x@y?ttl=3'],
  ['etcd://a:2379,[::1]:2/x@y', 'etcd://a:2379,[::1]:2/x@y'],
  ['etcd://me@a:1', 'etcd://me@a:1'],
  ['etcd://me:12#cret@a', 'etcd://me:…@a'],
  ['etcd://me:12?cret@a', 'etcd://me:…@a'],
  ['etcd://joe@example.com:secret@host', 'etcd://joe@example.com:…@host'],
  ['etcd://joe@example.com:se/cret@host', 'etcd://joe@example.com:…@host'],
  ['ETCD://me:secret@a', 'ETCD://me:…@a'],
  ['etcd://a/x?ca=/y:z@b', 'etcd://a/x?ca=/y:z@b'],
  ['me:secret@host/p', 'me:…@host/p'],
  ['http:me:secret@a', 'http:…@a'],
  ['http://me:secret@a', 'http://me:…@a'],
  ['shm:///srv/a:b@c', 'shm:///srv/a:b@c'],
  ['nonsense', 'nonsense'],
  ['postgres://me@a:1/x?password=secret&ttl=3', 'postgres://me@a:1/x?password=…&ttl=3'],
  ['postgres://a/x?ttl=3&Password=sec:ret', 'postgres://a/x?ttl=3&Password=…'],
  ['postgres://me:pa@a:1/x?password=sec@ret', 'postgres://me:…@…'],
  ['postgres://me:p?password=x@a/y', 'postgres://me:…@…'],
])('%s is shown without a password', (url, shown) => {
  expect(shownUrl(url)).toBe(shown);
});

test('HOLDFAST_URL counts where nothing else names a URL', async () => {
  process.env.HOLDFAST_URL = shmUrl();
  expect(await share(openLockManager(), openLockManager({ directory }))).toBe(true);
  const ofThread = () => openLockManager({ url: 'local:' });
  expect(await share(ofThread(), openLockManager())).toBe(false);
});

test('a directory that the program names goes before the directory of HOLDFAST_URL', async () => {
  process.env.HOLDFAST_URL = 'shm:///nowhere/at/all';
  expect(await share(openLockManager({ directory }), openLockManager({ url: shmUrl() }))).toBe(
    true,
  );
});

test('a HOLDFAST_URL that cannot be understood rejects the requests', async () => {
  process.env.HOLDFAST_URL = 'nonsense:';
  await expect(openLockManager().request('a', () => {})).rejects.toThrow(/nonsense:.*shm:/);
});

test.each([
  [{ url: 'nonsense' }, /not a URL/],
  [{ url: 'http://localhost/' }, /known schemes/],
  [{ url: 'shm:locks' }, /not absolute/],
  [{ url: 'shm://host/locks' }, /only a scheme/],
  [{ url: 'shm:///locks?x=1' }, /only a scheme/],
  [{ url: 'shm:///locks', directory: '/others' }, /exclude each other/],
  [{ url: 'local:///locks' }, /only its scheme/],
  [{ url: 'local:', directory: '/locks' }, /cannot be used with/],
  [{ url: Symbol('url') }, /symbol/i],
  [
    {
      url: 'local:',
      backend: Object.fromEntries(
        ['enqueue', 'release', 'cancel', 'snapshot', 'inspect', 'isLocked', 'watch', 'close'].map(
          (method) => [method, () => {}],
        ),
      ),
    },
    /exclude each other/,
  ],
])('throws a TypeError for %p', (options, message) => {
  expect(() => openLockManager(options)).toThrow(TypeError);
  expect(() => openLockManager(options)).toThrow(message);
});

test.each([
  ['shm:', () => `shm://${directory}/jobs`],
  ['broker:', () => `broker://${directory}/jobs`],
  ['local:', () => 'local:jobs'],
])('inspect() says where the locks are: %s', async (scheme, address) => {
  const url = scheme === 'local:' ? scheme : shmUrl().replace('shm:', scheme);
  const locks = openLockManager({ url, bucket: 'jobs' });
  expect(await locks.inspect()).toEqual({ held: [], pending: [], place: address() });
  locks.close();
});
