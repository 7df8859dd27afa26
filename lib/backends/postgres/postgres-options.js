'use strict';

const { shownUrl } = require('../shown-url.js');

/**
 * @typedef {object} PostgresOptions  which database, and which part of it
 * @property {object[]} configs  of pg, one for each host
 * @property {string} place  shown
 * @property {string} bucket
 * @property {number} ttlMs
 * @property {boolean} isPooled  by a pooler that keeps sessions
 */

/**
 * @typedef {object} GivenOptions  what may stand beside the URL
 * @property {string} [bucket]
 */

const DEFAULT_TTL_S = 10;
const MIN_TTL_S = 2;
const MAX_TTL_S = 3600;
const DEFAULT_PORT = 5432;

const URL_PATTERN =
  /^(postgres(?:ql)?):\/\/(?:([^/?#@]*)@)?([^/?#@]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i;

/**
 * @param {string} url  without its password
 * @param {string} problem
 */
const urlError = (url, problem) =>
  new TypeError(
    `'${url}' is no URL of a PostgreSQL database: ${problem}. ` +
      'Expected: postgres://user@host:5432,host2:5432/database?ttl=10',
  );

/**
 * @param {string | null} text
 * @param {string} url
 */
function toTtlMs(text, url) {
  const seconds = text === null ? DEFAULT_TTL_S : Number(text);
  if (!Number.isInteger(seconds) || seconds < MIN_TTL_S || seconds > MAX_TTL_S) {
    throw urlError(url, `'ttl' is not a whole number of seconds, ${MIN_TTL_S} to ${MAX_TTL_S}`);
  }
  return seconds * 1000;
}

/**
 * Reads a URL as libpq does, with several hosts, and with `ttl` and `pooler` of our own. What else
 * stands in it is for pg.
 * @param {string} url
 * @param {GivenOptions} [given]
 * @returns {PostgresOptions}
 * @throws TypeError where the URL is not understood, with what is wrong
 */
function toPostgresOptions(url, given = {}) {
  const match = URL_PATTERN.exec(url);
  const shown = shownUrl(url);
  if (match === null) throw urlError(shown, 'its shape is another one');
  const [, scheme, userInfo, hosts, database = '', query = ''] = match;
  const parameters = new URLSearchParams(query);
  const ttlMs = toTtlMs(parameters.get('ttl'), shown);
  const pooler = parameters.get('pooler');
  if (pooler !== null && pooler !== 'session') {
    throw urlError(shown, "'pooler' is 'session', or is left out");
  }
  parameters.delete('ttl');
  parameters.delete('pooler');
  parameters.delete('target_session_attrs'); // always read-write
  const rest = parameters.size === 0 ? '' : `?${parameters}`;
  const at = userInfo === undefined ? '' : `${userInfo}@`;
  const names = hosts.split(',');
  const configs = names.map((host) => ({
    connectionString: `${scheme}://${at}${host}/${database}${rest}`,
  }));
  for (const { connectionString } of configs) {
    if (!URL.canParse(connectionString)) throw urlError(shown, 'a host or port is none');
  }
  const places = names.map((host) => (/:\d+$/.test(host) ? host : `${host}:${DEFAULT_PORT}`));
  return {
    configs,
    place: `postgres://${places}/${database}`,
    bucket: given.bucket ?? 'default',
    ttlMs,
    isPooled: pooler === 'session',
  };
}

module.exports = { toPostgresOptions };
