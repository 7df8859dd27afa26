'use strict';

// The latency of an HTTP server that has work to do in the background, by the way in which the work
// is cut into pieces. See README.md.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { writeFileSync } = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { drawInTerminal } = require('./terminal-chart.js');
const { drawSvg } = require('./svg-chart.js');

/**
 * @typedef {object} Result
 * @property {string} title
 * @property {{ label: string, count: number }[]} bins  how many requests took so many ms
 * @property {number} p50  in ms
 * @property {number} p99  in ms
 * @property {number} chunks  of work done
 */

const WAYS = {
  none: 'no work in the background',
  setImmediate: 'chunks by setImmediate()',
  scheduler: "chunks as 'background' tasks",
};
const BIN_ENDS = [0.5, 1, 1.5, 2, 3, 4, 6, 8, 10, 15, Infinity];

/** @param {number[]} sorted */
function toBins(sorted) {
  return BIN_ENDS.map((end, i) => {
    const start = i === 0 ? 0 : BIN_ENDS[i - 1];
    const label = end === Infinity ? `> ${start} ms` : `≤ ${end} ms`;
    return { label, count: sorted.filter((ms) => ms > start && ms <= end).length };
  });
}

/**
 * @param {keyof typeof WAYS} way
 * @param {number} seconds
 * @returns {Promise<Result>}
 */
async function measure(way, seconds) {
  const server = fork(path.join(__dirname, 'server.js'), [way]);
  const [{ port }] = await once(server, 'message');
  const load = fork(path.join(__dirname, 'load.js'), [String(port), String(seconds)]);
  const [latencies] = await once(load, 'message');
  load.disconnect();
  server.send('stop');
  const [{ chunks }] = await once(server, 'message');
  await once(server, 'exit');
  /** @type {number[]} */
  const sorted = latencies.sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
  const at = (/** @type {number} */ share) => sorted[Math.floor(sorted.length * share)];
  return { title: WAYS[way], bins: toBins(sorted), p50: at(0.5), p99: at(0.99), chunks };
}

async function main() {
  const { values } = parseArgs({
    options: { seconds: { type: 'string', default: '5' }, svg: { type: 'string' } },
  });
  const results = [];
  for (const way of /** @type {(keyof typeof WAYS)[]} */ (Object.keys(WAYS))) {
    results.push(await measure(way, Number(values.seconds)));
  }
  console.log(drawInTerminal(results));
  if (values.svg !== undefined) writeFileSync(values.svg, drawSvg(results));
}

main();
