'use strict';

// A member's pages over plain HTTP, on the port of its clients, for every reader. gRPC does not
// report its clock. It reports its quota since etcd 3.6, and to some users only.

const http = require('node:http');
const https = require('node:https');
const { dateNow, performance } = require('../../time.js');

/** @typedef {import('./cluster-options.js').ClusterOptions} ClusterOptions */

/** A page of metrics has a few hundred kilobytes. */
const MAX_BYTES = 8 * 1024 * 1024;
/** The header `Date` has whole seconds: on average half a second is missing. */
const HALF_A_SECOND_MS = 500;

/** @param {string} text  the page of metrics @param {string} name */
function metric(text, name) {
  const found = new RegExp(`^${name} (\\S+)$`, 'm').exec(text);
  return found === null ? undefined : Number(found[1]);
}

/** @param {string} text @param {string} name */
function flag(text, name) {
  const value = metric(text, name);
  return value === undefined ? undefined : value === 1;
}

/**
 * @param {ClusterOptions} place
 * @param {string} endpoint
 * @param {string} path
 * @param {number} timeoutMs
 * @returns {Promise<{ text: string, date: string | undefined }>}
 */
function readPage({ isEncrypted, ca, cert, key }, endpoint, path, timeoutMs) {
  const { get } = isEncrypted ? https : http;
  const url = `${isEncrypted ? 'https' : 'http'}://${endpoint}${path}`;
  const certificates = /** @type {any} */ ({ ca, cert, key });
  return new Promise((resolve, reject) => {
    const options = { ...certificates, agent: false, timeout: timeoutMs };
    const request = get(url, options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part) => {
        text += part;
        if (text.length > MAX_BYTES) request.destroy(new Error('the page has no end'));
      });
      response.on('end', () => resolve({ text, date: response.headers.date }));
      response.on('error', reject);
    });
    request.on('timeout', () => request.destroy(new Error('no answer')));
    request.on('error', reject);
  });
}

/**
 * How far the clock of a member is ahead of this machine's, to about a second.
 * @param {ClusterOptions} place
 * @param {string} endpoint
 * @param {number} timeoutMs
 * @returns {Promise<number | undefined>} undefined: the member does not report it
 */
async function readClockAheadMs(place, endpoint, timeoutMs) {
  const start = performance.now();
  const { date } = await readPage(place, endpoint, '/version', timeoutMs);
  const there = Date.parse(date ?? '') + HALF_A_SECOND_MS;
  const here = dateNow() - (performance.now() - start) / 2;
  return Number.isNaN(there) ? undefined : Math.round(there - here);
}

/**
 * @param {ClusterOptions} place
 * @param {string} endpoint
 * @param {number} timeoutMs
 * @returns {Promise<number | undefined>} undefined: the member does not report it
 */
async function readQuotaBytes(place, endpoint, timeoutMs) {
  const { text } = await readPage(place, endpoint, '/metrics', timeoutMs);
  return metric(text, 'etcd_server_quota_backend_bytes');
}

/**
 * @typedef {object} StatusPages  what the pages of a member say of it
 * @property {string} version
 * @property {string | undefined} memberId
 * @property {boolean | undefined} hasLeader
 * @property {boolean | undefined} isLeader
 * @property {boolean | undefined} isLearner
 * @property {number | undefined} databaseBytes
 */

/**
 * @param {ClusterOptions} place
 * @param {string} endpoint
 * @param {number} timeoutMs
 * @returns {Promise<StatusPages>}
 */
async function readStatusPages(place, endpoint, timeoutMs) {
  const [about, metrics] = await Promise.all(
    ['/version', '/metrics'].map((path) => readPage(place, endpoint, path, timeoutMs)),
  );
  const { text } = metrics;
  return {
    version: JSON.parse(about.text).etcdserver,
    memberId: /^etcd_server_id\{server_id="(\w+)"\} 1$/m.exec(text)?.[1],
    hasLeader: flag(text, 'etcd_server_has_leader'),
    isLeader: flag(text, 'etcd_server_is_leader'),
    isLearner: flag(text, 'etcd_server_is_learner'),
    databaseBytes: metric(text, 'etcd_mvcc_db_total_size_in_bytes'),
  };
}

module.exports = { readClockAheadMs, readQuotaBytes, readStatusPages };
