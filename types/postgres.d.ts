import type { LockBackend, SessionStatus } from './backend.js';

/**
 * Options beside the URL or the configuration, all optional. They take precedence. Another value is
 * a TypeError.
 */
export interface PostgresBackendOptions {
  /**
   * Name of the bucket.
   * @defaultValue 'default'
   */
  bucket?: string | undefined;
  /**
   * The seconds (2 to 3600) after which the locks of a dead or cut-off machine are free.
   * @defaultValue the one in the URL, otherwise 10
   */
  ttl?: number | undefined;
  /**
   * `'session'`: each client of a connection pooler keeps one server connection (PgBouncer's
   * `pool_mode = session`).
   * @defaultValue undefined: a pooler is refused
   */
  pooler?: 'session' | undefined;
}

/**
 * The members of a configuration of `pg` that a session uses; others are ignored, except that a
 * `stream`, which another thread cannot have, is a TypeError.
 */
export interface PostgresConfig {
  /** As in the URL of {@link openPostgresBackend}. */
  connectionString?: string | undefined;
  /** Name or address of the server, or the folder of its socket. */
  host?: string | undefined;
  /** Its port. */
  port?: number | undefined;
  /** Name of the role. */
  user?: string | undefined;
  /** Name of the database. */
  database?: string | undefined;
  /**
   * The password, or a function that is called for each connection, for tokens that expire. A promise
   * that it returns is not settled while `requestSync()` or `isLocked()` blocks the thread.
   */
  password?: string | (() => string | Promise<string>) | undefined;
  /** TLS, as of `pg`; without functions: another thread gets it. */
  ssl?: boolean | object | undefined;
  /** How TLS begins, as of `pg`. */
  sslnegotiation?: string | undefined;
  /** Options of the command line of the server, for example `-c search_path=locks`. */
  options?: string | undefined;
}

/** A pool of `pg`: sessions take its configuration, and open further connections. */
export interface PostgresPool {
  /** Its configuration. */
  readonly options: object;
  /** A configuration has no such method. */
  connect(...args: never[]): unknown;
}

/** The session of a backend with its database. */
export interface PostgresSessionStatus extends SessionStatus {
  /** Number of the session; `undefined` without one. */
  session: string | undefined;
}

/** Locks of all machines that reach a database. */
export interface PostgresBackend extends LockBackend {
  /** The state of the session. */
  status(): Promise<PostgresSessionStatus>;
}

/** One host, as `examinePostgres()` found it. */
export interface PostgresHostExamination {
  /** Its address. */
  endpoint: string;
  /** Why it cannot hold locks; undefined: it can. */
  problem: string | undefined;
  /** Version of the server. */
  version?: string;
  /** Whether it is a standby, which takes no changes. */
  isStandby?: boolean;
  /** Whether a connection pooler answers. */
  isPooled?: boolean;
  /** Version of the schema `holdfast`; 0: it has none, as in a copy; undefined: there is no schema. */
  schemaVersion?: number | undefined;
  /** Whether this role may use the schema, or create it where there is none. */
  isAllowed?: boolean;
  /** `max_connections` of the server. */
  maxConnections?: number;
  /** Connections that there are now. */
  connections?: number;
  /** Milliseconds until an answer, the median of five. */
  roundTripMs?: number;
}

/** The result of `examinePostgres()`. */
export interface PostgresExamination {
  /** One for each host of the URL. */
  hosts: PostgresHostExamination[];
  /** Whether locks work in this database now. */
  isUsable: boolean;
}

/**
 * A backend over a PostgreSQL database (13 or later), for `openLockManager({ backend })`. If the
 * URL is all that is needed, `openLockManager({ url })` and `HOLDFAST_URL` do the same.
 * @param target A URL, `postgres://user@host:5432,host2:5432/database?ttl=10`, with the parameters
 * that `pg` reads; or a configuration or a pool of `pg`.
 * @throws A TypeError when the target is not understood or a parameter would have no effect, an
 * InvalidStateError when `pg` is missing or a file that the target names cannot be read
 */
export function openPostgresBackend(
  target: string | PostgresConfig | PostgresPool,
  options?: PostgresBackendOptions,
): PostgresBackend;

/**
 * Checks whether a database can hold locks, and if not, why. Changes nothing.
 * @param target As of {@link openPostgresBackend}.
 * @returns What was found. Rejects as {@link openPostgresBackend} throws.
 */
export function examinePostgres(
  target: string | PostgresConfig | PostgresPool,
  options?: PostgresBackendOptions,
): Promise<PostgresExamination>;
