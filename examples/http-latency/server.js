'use strict';

// The server: answers requests, and rebuilds indexes in the meantime.

const http = require('node:http');
const { scheduler } = require('holdfast');

const JOBS = 4;
const CHUNK_MS = 2;

let chunks = 0;

/** A piece of work that takes its time, as parsing or compressing does. */
function compute(/** @type {number} */ ms) {
  for (const end = performance.now() + ms; performance.now() < end;);
}

function chunk() {
  compute(CHUNK_MS);
  chunks += 1;
}

/** Each way to run a job: chunk after chunk, for ever. */
const WAYS = {
  none() {},
  setImmediate() {
    chunk();
    setImmediate(WAYS.setImmediate);
  },
  async scheduler() {
    for (;;) await scheduler.postTask(chunk, { priority: 'background' });
  },
};

const server = http.createServer((_request, response) => {
  compute(0.1);
  response.end('an answer');
});
server.keepAliveTimeout = 0; // the load keeps its connections, however long it stands still
server.listen(0, '127.0.0.1', () => {
  process.send?.(server.address());
  const way = /** @type {keyof typeof WAYS} */ (process.argv[2]);
  for (let job = 0; job < JOBS; job += 1) WAYS[way]();
});
process.on('message', () => {
  process.send?.({ chunks }, () => process.exit());
});
