'use strict';

const { readRoundTripMs } = require('../remote/round-trip.js');
const { SET_SEARCH_PATH, keepsSession } = require('./connection.js');
const { loadPg } = require('./pg-library.js');
const { findDatabase, toPostgresOptions } = require('./postgres-options.js');
const { FUNCTIONS, NO_VERSION, readVersion, VERSION } = require('./schema.js');

/** @typedef {import('../../../types/postgres.d.ts').PostgresHostExamination} HostExamination */
/** @typedef {import('../../../types/postgres.d.ts').PostgresExamination} PostgresExamination */

const TIMEOUT_MS = 3000;
const MIN_VERSION = 130_000;

const ABOUT = `
  SELECT pg_is_in_recovery(), pg_backend_pid(), current_setting('server_version'),
    current_setting('server_version_num')::int, current_setting('max_connections')::int,
    (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend'),
    current_setting('transaction_read_only')::bool`;

/** Whether the role may use the tables, if there are any, and may create what is missing. */
const RIGHTS = `
  SELECT CASE WHEN to_regnamespace('holdfast') IS NULL
    THEN true ELSE has_schema_privilege('holdfast', 'USAGE') END,
    CASE WHEN to_regnamespace('holdfast') IS NULL OR to_regnamespace('${FUNCTIONS}') IS NULL
      THEN has_database_privilege(current_database(), 'CREATE') ELSE true END`;

/**
 * @typedef {object} Further
 * @property {number} number  the version
 * @property {boolean} isReadOnly  whether it takes no changes, as a standby or by a setting
 * @property {boolean} isKept  whether sessions are kept
 * @property {boolean} mayUse  whether the role may use the tables
 *
 * @param {Omit<HostExamination, 'problem' | 'endpoint'> & Further} found
 * @param {boolean} isPoolerKnown
 */
function problemOf(
  { number, version, isStandby, isReadOnly, isPooled, isKept, schemaVersion, isAllowed, mayUse },
  isPoolerKnown,
) {
  if (number < MIN_VERSION) return `PostgreSQL ${version} is too old: locks need 13 or later`;
  if (isStandby) return 'it is a standby, which takes no changes';
  if (isReadOnly) return 'it is read-only: default_transaction_read_only is on';
  if (isPooled && !isPoolerKnown) return 'a connection pooler answers';
  if (!isKept) return 'a connection pooler answers, which does not keep sessions';
  if (!mayUse) return "this role may not use the schema 'holdfast'";
  if (schemaVersion === NO_VERSION) {
    return "the schema 'holdfast' has no version, as a copy without its data: drop it";
  }
  if (schemaVersion !== undefined && schemaVersion !== VERSION) {
    return `the schema 'holdfast' has version ${schemaVersion}, this package needs ${VERSION}`;
  }
  if (!isAllowed) {
    const missing = schemaVersion === undefined ? 'holdfast' : FUNCTIONS;
    return `there is no schema '${missing}', and this role may not create it`;
  }
  return undefined;
}

/**
 * @param {object} config  of pg
 * @param {boolean} isPoolerKnown
 * @returns {Promise<HostExamination>}
 */
async function examineHost(config, isPoolerKnown) {
  const { Client } = loadPg();
  const settings = {
    application_name: 'holdfast doctor',
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    ...config,
  };
  const client = new Client(settings);
  client.on('error', () => {}); // the next call reports it
  const endpoint = `${client.host}:${client.port}`;
  try {
    await client.connect();
    await client.query(SET_SEARCH_PATH);
    const read = (/** @type {string} */ text) =>
      client.query({ text, rowMode: 'array' }).then((/** @type {any} */ { rows }) => rows[0]);
    const [isStandby, pid, version, number, maxConnections, connections, isReadOnly] =
      await read(ABOUT);
    const [mayUse, mayCreate] = await read(RIGHTS);
    const isPooled = pid !== client.processID;
    const isKept =
      !(isPooled && isPoolerKnown) || (await keepsSession(client, new Client(settings)));
    const found = {
      version,
      isStandby,
      isPooled,
      schemaVersion: mayUse ? await readVersion(client) : undefined,
      isAllowed: mayUse && mayCreate,
      maxConnections,
      connections,
      roundTripMs: await readRoundTripMs(() => client.query('SELECT 1')),
    };
    const problem = problemOf({ ...found, number, isReadOnly, isKept, mayUse }, isPoolerKnown);
    return { endpoint, problem, ...found };
  } catch (error) {
    const { message, code } = /** @type {any} */ (error);
    return { endpoint, problem: message || code };
  } finally {
    client.connection.stream.destroy();
  }
}

/**
 * Whether locks can live in a database, and if not, why.
 * @param {string | object} target
 * @param {import('./postgres-options.js').GivenOptions | null} [given]
 * @returns {Promise<PostgresExamination>}
 * @throws as openPostgresBackend() (rejects)
 */
async function examinePostgres(target, given = undefined) {
  const { options, password } = toPostgresOptions(target, given);
  findDatabase(options, loadPg().Client); // throws if it cannot be used
  const hosts = await Promise.all(
    options.configs.map((config) =>
      examineHost(password === undefined ? config : { ...config, password }, options.isPooled),
    ),
  );
  return { hosts, isUsable: hosts.some(({ problem }) => problem === undefined) };
}

module.exports = { examinePostgres };
