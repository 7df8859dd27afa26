'use strict';

const { invalidStateError } = require('../../errors.js');
const { OF_POSTGRES, warnOfMisspeltOptions } = require('../../option-names.js');
const { toDictionarySource, toDOMString, toMember } = require('../../webidl.js');
const { DEFAULT_TTL_S, TTL_RANGE, isTtl } = require('../remote/ttl.js');
const { shownUrl } = require('../shown-url.js');

/**
 * @typedef {object} PostgresOptions  which database, and which part of it
 * @property {object[]} configs  of pg, one for each host
 * @property {boolean} hasPasswordFunction  each connection requests it of the agent
 * @property {string} place  shown
 * @property {string} bucket
 * @property {number} ttlMs
 * @property {boolean} isPooled  by a pooler that keeps sessions
 * @property {boolean} [isPoolerChecked]  by an earlier connection
 * @property {number} [lockTimeoutMs]  for a call; none: no limit
 * @property {object} [defaults]  of pg, in the thread of the program
 */

/** @typedef {import('../../../types/postgres.d.ts').PostgresBackendOptions} GivenOptions */

const DEFAULT_PORT = 5432;

const URL_PATTERN =
  /^(postgres(?:ql)?):\/\/(?:([^/?#@]*)@)?([^/?#@]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i;

/** Read by holdfast, or set by each session: its host is read-write, its calls have own limits. */
const OWN_PARAMETERS = [
  ...['ttl', 'pooler', 'target_session_attrs', 'query_timeout'],
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'],
];

/** Read by pg, which ignores other parameters of libpq, such as `channel_binding`. */
const PG_PARAMETERS = [
  ...['host', 'port', 'user', 'password'],
  ...['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation', 'uselibpqcompat'],
  ...['application_name', 'fallback_application_name', 'client_encoding', 'options'],
];

/** The members of a configuration of pg that a session uses, or that no session can use. */
const MEMBERS = /** @type {const} */ ([
  'connectionString',
  'host',
  'port',
  'user',
  'database',
  'password',
  'ssl',
  'sslnegotiation',
  'options',
  'stream', // of a connector, in place of a host: without it another server would have the locks
]);

/**
 * @param {string} url  without its password
 * @param {string} problem
 */
const urlError = (url, problem) =>
  new TypeError(
    `'${url}' is no URL of a PostgreSQL database: ${problem}. ` +
      'Expected: postgres://user@host:5432,host2:5432/database?ttl=10',
  );

/** @param {string} text  of an authority */
const decode = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** @param {string} host @param {string | number} [port] */
const hostAndPort = (host, port = DEFAULT_PORT) =>
  /:\d+$/.test(host) && !host.startsWith('/') ? host : `${host}:${port}`;

/**
 * A URL as libpq reads it, with several hosts, and with `ttl` and `pooler` of our own. The other
 * parameters are for pg.
 * @param {string} url
 * @param {boolean} isOfPg  the program uses it with pg, as it is
 */
function parseUrl(url, isOfPg) {
  const match = URL_PATTERN.exec(url);
  const shown = shownUrl(url);
  if (match === null) throw urlError(shown, 'its shape is another one');
  const [, scheme, userInfo, hosts, database = '', query = ''] = match;
  const parameters = new URLSearchParams(query);
  for (const [name, value] of isOfPg ? [] : parameters) {
    if (!OWN_PARAMETERS.includes(name) && !PG_PARAMETERS.includes(name)) {
      throw urlError(shown, `the parameter '${name}' would have no effect`);
    }
    if (value === '') throw urlError(shown, `the parameter '${name}' is empty`);
  }
  const ttl = Number(parameters.get('ttl') ?? DEFAULT_TTL_S);
  if (!isTtl(ttl)) throw urlError(shown, `'ttl' ${TTL_RANGE}`);
  const pooler = parameters.get('pooler') ?? undefined;
  if (pooler !== undefined && pooler !== 'session') {
    throw urlError(shown, "'pooler' is 'session', or is left out");
  }
  for (const own of OWN_PARAMETERS) parameters.delete(own);
  const rest = parameters.size === 0 ? '' : `?${parameters}`;
  const at = userInfo === undefined ? '' : `${userInfo}@`;
  const names = hosts.split(',');
  const configs = names.map((host) => ({
    connectionString: `${scheme}://${at}${host}/${database}${rest}`,
  }));
  const isSocket = hosts === '' || hosts.startsWith('%2F');
  if (!isSocket && !configs.every((it) => URL.canParse(it.connectionString))) {
    throw urlError(shown, 'a host or port is none');
  }
  const place = `postgres://${names.map((it) => hostAndPort(decode(it)))}/${decode(database)}`;
  return { configs, place, ttl, pooler };
}

/** @param {any} config */
function takeMembers(config) {
  /** @type {any} */
  const taken = {};
  for (const member of MEMBERS) {
    if (config[member] !== undefined && config[member] !== null) taken[member] = config[member];
  }
  // pg hides the key from enumeration.
  if (taken.ssl?.key !== undefined) taken.ssl = { ...taken.ssl, key: taken.ssl.key };
  return taken;
}

/**
 * @param {any} given  a configuration of pg, or a pool with one
 */
function parseConfig(given) {
  const { options: ofPool } = given;
  const taken = takeMembers(typeof given.connect === 'function' && ofPool ? ofPool : given);
  const { connectionString, host = 'localhost', port, database = '' } = taken;
  if (connectionString !== undefined) {
    const { configs, ...parsed } = parseUrl(connectionString, true);
    return { ...parsed, configs: configs.map((it) => ({ ...taken, ...it })) };
  }
  const place = `postgres://${hostAndPort(host, port)}/${database}`;
  return { configs: [taken], place, ttl: DEFAULT_TTL_S, pooler: undefined };
}

/** Another thread gets it. @param {any} config */
function checkClonable(config) {
  for (const [member, value] of Object.entries(config)) {
    try {
      structuredClone(value);
    } catch (cause) {
      throw new TypeError(
        `The member '${member}' of the configuration cannot be passed to the thread of the session`,
        { cause },
      );
    }
  }
}

/**
 * The defaults of pg, which the program may have changed: the thread of the session has its own.
 * @param {any} defaults
 * @returns {object}
 * @throws TypeError where no other thread can have them
 */
function toDefaults(defaults) {
  const taken = takeMembers(defaults);
  checkClonable(taken);
  return taken;
}

/**
 * @param {unknown} target  a URL, a configuration of pg, or a pool with one
 * @param {GivenOptions | null} [value]
 * @returns {{ options: PostgresOptions, password: (() => unknown) | undefined }}
 * @throws TypeError where it is not understood, with what is wrong
 */
function toPostgresOptions(target, value = undefined) {
  const source = toDictionarySource(value, 'PostgresBackendOptions') ?? {};
  const given = /** @type {GivenOptions} */ (source);
  warnOfMisspeltOptions(given, OF_POSTGRES);
  const isObject = typeof target === 'object' && target !== null;
  if (typeof target !== 'string' && !isObject) {
    throw new TypeError('Expected a URL, a configuration of pg, or a pool of pg');
  }
  const { configs, place, ttl, pooler } = isObject ? parseConfig(target) : parseUrl(target, false);
  const seconds = given.ttl ?? ttl;
  if (!isTtl(seconds)) throw new TypeError(`The member 'ttl' ${TTL_RANGE}`);
  const pool = given.pooler ?? pooler;
  if (pool !== undefined && pool !== 'session') {
    throw new TypeError("The member 'pooler' is 'session', or is left out");
  }
  const { password } = /** @type {any} */ (configs[0]);
  const hasPasswordFunction = typeof password === 'function';
  const withoutFunction = hasPasswordFunction
    ? configs.map(({ password: _, ...others }) => others)
    : configs;
  for (const config of withoutFunction) checkClonable(config);
  const options = {
    configs: withoutFunction,
    hasPasswordFunction,
    place,
    bucket: toMember(given.bucket, toDOMString, 'default'),
    ttlMs: seconds * 1000,
    isPooled: pool === 'session',
  };
  return { options, password: hasPasswordFunction ? password : undefined };
}

/**
 * The database that pg finds by a configuration, with its defaults, the environment and the
 * parameters of a URL.
 * @param {PostgresOptions} options
 * @param {any} Client  of pg
 * @returns {string}
 * @throws an InvalidStateError if a file cannot be read, a TypeError if pg refuses a parameter
 */
function findDatabase({ configs, place }, Client) {
  try {
    // pg hides the key of a configuration that it has seen.
    const clients = configs.map(
      (/** @type {any} */ { ssl, ...config }) => new Client({ ...config, ssl: ssl && true }),
    );
    const hosts = clients.map(({ host, port }) => hostAndPort(host, port));
    return `postgres://${hosts}/${clients[0].database ?? ''}`; // without a user it has none
  } catch (/** @type {any} */ { message, syscall }) {
    const text = `pg cannot use the configuration of '${place}': ${message}`;
    throw syscall === undefined ? new TypeError(text) : invalidStateError(text);
  }
}

module.exports = { findDatabase, toDefaults, toPostgresOptions };
