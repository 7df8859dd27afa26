'use strict';

const { invalidStateError } = require('../../errors.js');
const { clearTimeout, setTimeout } = require('../../time.js');
const { loadPg } = require('./pg-library.js');
const { INVALID_PARAMETER_VALUE } = require('./postgres-errors.js');
const { ensureSchema, FUNCTIONS, NO_VERSION, VERSION } = require('./schema.js');

/** @typedef {import('./postgres-options.js').PostgresOptions} PostgresOptions */

const MIN_VERSION = 130_000;
const INSUFFICIENT_PRIVILEGE = '42501';
/** PgBouncer with pool_mode = statement. */
const NO_TRANSACTIONS = /transaction blocks not allowed/;
/** Of `pg`, where a pooler has no server connection for a client. */
const NO_ANSWER = /[Rr]ead timeout|timeout expired/;

/**
 * The first call of each connection: no function or operator of another role, who may create in a
 * schema of the search path, takes the place of PostgreSQL's.
 */
const SET_SEARCH_PATH = "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)";

const ABOUT_SERVER = `
  SELECT pg_is_in_recovery() AS "isStandby", pg_backend_pid() AS pid,
    current_setting('transaction_read_only')::bool AS "isReadOnly",
    current_setting('server_version_num')::int AS version,
    current_setting('server_version') AS "versionText"`;

const SET_LIMITS = `
  SELECT set_config(name, setting, false)
  FROM json_each_text($1) wanted (name, setting)
  WHERE EXISTS (SELECT FROM pg_settings s WHERE s.name = wanted.name)`;

/** The longest wait for a silent host, before the next one: a TTL may be much longer. */
const MAX_CONNECT_MS = 10_000;

/** A client whose machine is silent counts its session as lost before this part of the TTL. */
const SILENT_PART = 0.95;

/**
 * The settings by which the server ends the connection of a silent machine: after 0.95 TTL, and
 * within the TTL. Linux probes at whole seconds and then compares with tcp_user_timeout; a system
 * without that counts the probes. The last setting ends a call whose client has gone.
 * @param {number} ttlMs
 */
function limitsOf(ttlMs) {
  const seconds = ttlMs / 1000;
  const interval = Math.max(1, Math.floor(seconds / 20));
  const count = Math.max(1, Math.floor(seconds / 2 / interval));
  return {
    tcp_keepalives_idle: seconds - count * interval,
    tcp_keepalives_interval: interval,
    tcp_keepalives_count: count,
    tcp_user_timeout: Math.round(SILENT_PART * ttlMs),
    client_connection_check_interval: ttlMs / 2,
  };
}

/** The limits of time that a role may have: a session lasts, and waits, as long as it likes. */
const NO_LIMITS = {
  statement_timeout: 0,
  transaction_timeout: 0, // since 17
  idle_session_timeout: 0, // since 14
  idle_in_transaction_session_timeout: 0,
};

/**
 * Calls before a session is there: nothing else would notice that the server has fallen silent.
 * @template T
 * @param {number} ms
 * @param {any} client  whose connection is ended if they take longer
 * @param {() => Promise<T>} calls
 * @returns {Promise<T>}
 */
async function answerWithin(ms, client, calls) {
  const silence = new Error(`no answer of PostgreSQL for ${ms} ms`);
  const timer = setTimeout(() => client.connection.stream.destroy(silence), ms);
  try {
    return await calls();
  } finally {
    clearTimeout(timer);
  }
}

/**
 * @param {any} client
 * @param {PostgresOptions} options
 */
async function checkServer(client, { isPooled }) {
  const { rows } = await client.query(ABOUT_SERVER);
  const [{ isStandby, isReadOnly, pid, version, versionText }] = rows;
  if (version < MIN_VERSION) {
    throw invalidStateError(`PostgreSQL ${versionText} is too old: locks need 13 or later`);
  }
  if (isStandby) throw new Error('the server is a standby, which takes no changes');
  if (isReadOnly) throw new Error('the server is read-only: default_transaction_read_only is on');
  client.backendPid = pid;
  if (pid !== client.processID && !isPooled) {
    throw invalidStateError(
      'A connection pooler answers in place of PostgreSQL. Locks need a session that nothing else uses: ' +
        'give the address of the server, or, if the pooler has pool_mode = session, ?pooler=session',
    );
  }
}

/**
 * Whether a client of a pooler keeps its server connection after a transaction: then another
 * client never gets it.
 * @param {any} client
 * @param {any} other  a client that is not connected; it is ended
 * @returns {Promise<boolean>}
 */
async function keepsSession(client, other) {
  const pidOf = async (/** @type {any} */ it) =>
    (await it.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
  const pid = await pidOf(client);
  other.on('error', () => {}); // the next call reports it
  try {
    await other.connect();
    await other.query(SET_SEARCH_PATH);
    await other.query('BEGIN');
    return (await pidOf(other)) !== pid && (await pidOf(client)) === pid;
  } catch (/** @type {any} */ error) {
    if (NO_TRANSACTIONS.test(error.message)) return false;
    if (!NO_ANSWER.test(error.message)) throw error;
    throw new Error(
      'the pooler has no spare connection, which shows that it keeps sessions: a larger default_pool_size',
      { cause: error },
    );
  } finally {
    other.connection.stream.destroy();
  }
}

/** Creates the schema if it is missing. @param {any} client */
async function checkSchema(client) {
  let version;
  try {
    version = await ensureSchema(client);
  } catch (/** @type {any} */ error) {
    if (error.code !== INSUFFICIENT_PRIVILEGE) throw error;
    throw new DOMException(
      `The schema 'holdfast' or '${FUNCTIONS}' is missing, or this role may not use it ` +
        `(${error.message}). ` +
        "An administrator's: npx holdfast postgres --schema | psql",
      'SecurityError',
    );
  }
  if (version === VERSION) return;
  if (version === NO_VERSION) {
    throw invalidStateError(
      "The schema 'holdfast' has no version, as a copy without its data: " +
        'end all programs, and drop the schema',
    );
  }
  throw invalidStateError(
    `The schema 'holdfast' has version ${version}, this package needs ${VERSION}: ` +
      'use one version of the package everywhere. To change to it, end all programs, and drop the schema',
  );
}

/**
 * @param {any} client
 * @param {PostgresOptions} options
 * @param {any} other  a client that is not connected
 */
async function prepare(client, options, other) {
  await client.query(SET_SEARCH_PATH);
  await checkServer(client, options);
  const { isPooled, isPoolerChecked, ttlMs, lockTimeoutMs = 0 } = options;
  if (isPooled && !isPoolerChecked && !(await keepsSession(client, other))) {
    throw invalidStateError(
      'The connection pooler does not keep sessions: it gives a server connection to several clients. ' +
        'Give the address of the server, or of a pool with pool_mode = session',
    );
  }
  const limits = { ...NO_LIMITS, lock_timeout: lockTimeoutMs, ...limitsOf(ttlMs) };
  const set = (/** @type {object} */ it) => client.query(SET_LIMITS, [JSON.stringify(it)]);
  await set(limits).catch((/** @type {any} */ error) => {
    if (error.code !== INVALID_PARAMETER_VALUE) throw error;
    // Windows and macOS refuse it.
    return set({ ...limits, client_connection_check_interval: 0 });
  });
}

/**
 * @param {PostgresOptions} options
 * @param {object} config  of pg, for one host
 * @param {() => void} onEnd  of the connection that is returned
 */
async function connectTo(options, config, onEnd) {
  const { Client, defaults } = loadPg();
  Object.assign(defaults, options.defaults);
  const limitMs = Math.min(options.ttlMs, MAX_CONNECT_MS);
  const settings = {
    application_name: 'holdfast',
    connectionTimeoutMillis: limitMs,
    keepAlive: true,
    ...config,
  };
  const client = new Client(settings);
  client.on('error', () => {}); // the end follows
  try {
    await client.connect();
    const other = new Client({ ...settings, query_timeout: limitMs });
    await answerWithin(2 * limitMs, client, () => prepare(client, options, other));
    client.on('end', onEnd);
    return client;
  } catch (error) {
    client.connection.stream.destroy();
    throw error;
  }
}

/**
 * A connection to the first of the hosts that takes changes.
 * @param {PostgresOptions} options
 * @param {() => void} onEnd  of the connection
 * @returns {Promise<any>} a client of pg
 */
async function connect(options, onEnd) {
  let failure;
  for (const config of options.configs) {
    try {
      return await connectTo(options, config, onEnd);
    } catch (error) {
      failure = withMessage(error);
      if (error instanceof DOMException) throw error;
    }
  }
  throw failure;
}

/** If a host has several addresses, and none answers, Node's error has only a list of errors. */
function withMessage(/** @type {any} */ error) {
  const { message, errors = [], code } = error;
  if (message !== '') return error;
  const messages = errors.map((/** @type {Error} */ it) => it.message);
  return Object.assign(new Error(messages.join('; ') || code, { cause: error }), { code });
}

module.exports = { SET_SEARCH_PATH, answerWithin, checkSchema, connect, keepsSession };
