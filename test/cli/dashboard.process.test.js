'use strict';

const { subscribe, unsubscribe } = require('node:diagnostics_channel');
const { once } = require('node:events');
const { rmSync } = require('node:fs');
const http = require('node:http');
const { DashboardServer } = require('../../lib/cli/dashboard.js');
const { CommandLine } = require('../support/cli.js');

let cli;
let address;
beforeEach(async () => {
  cli = new CommandLine();
  await cli.locks.request('first', () => {}); // makes the bucket
  const running = cli.start(['dashboard', '--json', '--interval', '0.1']);
  address = new URL(JSON.parse(await running.line()).url);
});
afterEach(() => cli.close());

/** @returns {Promise<{ status: number, headers: object, body: string }>} */
function get(path, { headers = {}, method = 'GET' } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(new URL(path, address), { headers, method }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text) => (body += text));
      response.on('end', () =>
        resolve({ status: response.statusCode, headers: response.headers, body }),
      );
    });
    request.on('error', reject);
    request.end();
  });
}

/** The first picture of the live feed for which `isWanted`. */
function picture(isWanted = () => true) {
  return new Promise((resolve, reject) => {
    const request = http.get(new URL('events', address), (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (more) => {
        text += more;
        const messages = text.split('\n\n');
        text = messages.pop();
        for (const message of messages) {
          const data = /^event: picture\ndata: (.*)$/s.exec(message)?.[1];
          const found = data && JSON.parse(data);
          if (!found || !isWanted(found)) continue;
          request.destroy();
          resolve({ found, headers: response.headers });
        }
      });
    });
    request.on('error', reject);
  });
}

test('listens on the loopback address, with a token that cannot be guessed', () => {
  expect(address.hostname).toBe('127.0.0.1');
  expect(address.pathname).toMatch(/^\/[\w-]{32}\/$/);
});

test('the page loads nothing from elsewhere, and may not', async () => {
  const { status, headers, body } = await get('.');
  expect(status).toBe(200);
  const policy = headers['content-security-policy'];
  expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'/);
  expect(policy).not.toMatch(/unsafe|http/);
  expect(headers['referrer-policy']).toBe('no-referrer');
  expect(headers['cache-control']).toBe('no-store');
  expect(body).not.toMatch(/https?:\/\//);
  for (const file of ['page.js', 'page.css', 'icon.svg']) {
    expect((await get(file)).status).toBe(200);
  }
});

test('on port 80, which a browser leaves out of the host', async () => {
  const server = new DashboardServer(cli.locks, { address: 'here', interval: 1_000 });
  try {
    address = new URL(await server.listen(80));
  } catch (error) {
    expect(['EACCES', 'EADDRINUSE']).toContain(error.code); // this port is not for this user now
    return;
  }
  try {
    for (const host of ['127.0.0.1', 'localhost', '127.0.0.1:80']) {
      expect((await get('.', { headers: { host } })).status).toBe(200);
    }
    expect((await get('.', { headers: { host: 'evil.example' } })).status).toBe(403);
  } finally {
    await server.close();
  }
});

describe('the refused requests', () => {
  test.each([
    ['no token', '/'],
    ['another token', `/${'A'.repeat(32)}/`],
    ['a short token', '/x/events'],
  ])('%s', async (_, path) => {
    expect(await get(path)).toMatchObject({ status: 403 });
  });

  test('another name of this machine, which another site may have led here', async () => {
    expect(await get('.', { headers: { host: `evil.example:${address.port}` } })).toMatchObject({
      status: 403,
    });
    expect((await get('.', { headers: { host: `localhost:${address.port}` } })).status).toBe(200);
  });

  test('other methods, and files that are not of the page', async () => {
    expect((await get('.', { method: 'POST' })).status).toBe(405);
    for (const path of ['../package.json', '%2e%2e/server.js', 'page.mjs', '__proto__']) {
      expect((await get(address.pathname + path)).status).not.toBe(200);
    }
  });
});

test('the feed shows who holds and who waits', async () => {
  const { pid } = await cli.hold('a lock', '--label', 'nightly');
  cli.start(['exec', 'a lock', 'true']);
  const { found, headers } = await picture(({ totals }) => totals.pending === 1);
  expect(headers['content-type']).toBe('text/event-stream');
  expect(found.locks).toMatchObject([
    { name: 'a lock', held: 1, waiting: 1, holders: [{ pid, label: 'nightly' }] },
  ]);
  expect(found.graph.locks).toMatchObject([{ name: 'a lock', waiters: [{ mode: 'exclusive' }] }]);
  expect(found.usage.processes).toBeGreaterThan(0);
});

test('one lock, with all its requests', async () => {
  const { pid } = await cli.hold('a lock & more');
  const { body } = await get(`lock?name=${encodeURIComponent('a lock & more')}`);
  expect(JSON.parse(body)).toMatchObject({ name: 'a lock & more', held: [{ pid }], pending: [] });
});

test('one lock, with the priorities and overtakes of its requests', async () => {
  await cli.holdHere('a lock', { priority: 'user-blocking' });
  void cli.locks.request('a lock', { priority: 'background' }, () => {}).catch(() => {});
  void cli.locks.request('a lock', () => {}).catch(() => {});
  const { body } = await get(`lock?name=${encodeURIComponent('a lock')}`);
  expect(JSON.parse(body)).toMatchObject({
    held: [{ priority: 'user-blocking', overtakes: 0 }],
    pending: [
      { priority: 'user-visible', overtakes: 0 },
      { priority: 'background', overtakes: 1 },
    ],
  });
});

test('the locks with a text in their names, of all locks', async () => {
  for (const name of ['Ledger 1', 'ledger 2', 'other']) await cli.holdHere(name);
  const feed = http.get(new URL('events', address)); // searched is what a page shows
  try {
    await picture(({ locks }) => locks.length === 3);
    const { body } = await get(`locks?text=${encodeURIComponent('LEDGER')}`);
    const { total, locks } = JSON.parse(body);
    expect(total).toBe(2);
    expect(locks.map(({ name }) => name).sort()).toEqual(['Ledger 1', 'ledger 2']);
  } finally {
    feed.destroy();
  }
});

test('nothing is watched while no page is open', async () => {
  const { counts } = (await picture()).found;
  expect(counts.grants).toBe(0);
  await cli.locks.request('unseen', () => {});
  // A page that comes later begins anew.
  const { found } = await picture();
  expect(found.counts.grants).toBe(0);
  expect(found.locks).toEqual([]);
});

test('a page that reads nothing is no page any more when the table has been replaced', async () => {
  const responses = [];
  const onRequest = ({ response }) => responses.push(response);
  subscribe('http.server.request.start', onRequest);
  const server = new DashboardServer(cli.locks, { address: 'here', interval: 1 });
  address = new URL(await server.listen(0));
  await picture();
  const slow = http.get(new URL('events', address)).on('error', () => {});
  await once(slow, 'response');
  const [, page] = responses;
  page.socket._write = page.socket._writev = () => {}; // as one whose buffers are full
  rmSync(cli.directory, { recursive: true });
  while (!page.writableEnded) await new Promise((resolve) => setImmediate(resolve));
  await cli.locks.request('first', () => {}); // makes the bucket again
  const { found } = await picture(); // the write to the first page would be an uncaught exception
  expect(found.address).toBe('here');
  unsubscribe('http.server.request.start', onRequest);
  await server.close();
});
