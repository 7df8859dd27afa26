import type { LockBackend, SessionStatus } from './backend.js';

/**
 * Options beside the URL of a cluster, all optional. They take precedence over the URL. A
 * certificate or key that is no string or bytes is a TypeError.
 */
export interface EtcdOptions {
  /**
   * Name of the bucket.
   * @defaultValue 'default'
   */
  bucket?: string | undefined;
  /**
   * Certificates of the authorities to trust, PEM. Needs `etcds:`, like `cert` and `key`.
   * @defaultValue the file that the URL names, otherwise those that Node trusts
   */
  ca?: string | Uint8Array | undefined;
  /**
   * The client's certificate, PEM.
   * @defaultValue the file that the URL names, if any
   */
  cert?: string | Uint8Array | undefined;
  /**
   * The private key of `cert`, PEM.
   * @defaultValue the file that the URL names, if any
   */
  key?: string | Uint8Array | undefined;
  /**
   * Name of the user, for a cluster with authentication.
   * @defaultValue the one in the URL
   */
  user?: string | undefined;
  /**
   * Password of the user.
   * @defaultValue the one in the URL, or in the file that its `passwordFile` names
   */
  password?: string | undefined;
}

/** The session of a backend with its cluster. */
export interface EtcdSessionStatus extends SessionStatus {
  /** The lease in hexadecimal, as etcdctl shows it; '' while there is none. */
  lease: string;
  /** Milliseconds since the lease was extended. */
  leaseAgeMs: number;
  /** Changes whose answer never came, and whose outcome was found out later. */
  inDoubt: number | undefined;
  /** Calls that were made. */
  calls: number;
  /** Calls that failed. */
  failures: number;
  /** How often the connection changed to another member. */
  reconnects: number;
  /** How often a token was fetched. */
  authentications: number;
  /** Counters of the watch streams; gaps: revisions that were compacted away unseen. */
  watch: { reconnects: number; events: number; messages: number; gaps: number } | undefined;
}

/** Locks of all machines that reach an etcd cluster. */
export interface EtcdBackend extends LockBackend {
  /** The state of the session. */
  status(): Promise<EtcdSessionStatus>;
}

/**
 * One member of a cluster, as `examineEtcd()` found it. In a cluster with users, a figure that
 * this user may not read is `undefined`.
 */
export interface EtcdMemberExamination {
  /** Its address. */
  endpoint: string;
  /** Whether it answered. */
  isReachable: boolean;
  /** Why it cannot be reached. */
  problem?: string;
  /** Version of the server. */
  version?: string;
  /** Whether holdfast works with that version. */
  isSupported?: boolean;
  /** The cluster that it is a member of, in hexadecimal. */
  clusterId?: string;
  /** Its number there, in hexadecimal. */
  memberId?: string;
  /** Whether it knows a leader. */
  hasLeader?: boolean;
  /** Whether it is the leader. */
  isLeader?: boolean;
  /** Whether it only learns yet: it cannot be asked for locks. */
  isLearner?: boolean;
  /** Size of its database. */
  databaseBytes?: number;
  /** How large its database may become; `undefined`: its metrics do not have it. */
  quotaBytes?: number | undefined;
  /**
   * How far its clock is ahead of this machine's, to about a second; `undefined`: not reported.
   */
  clockAheadMs?: number | undefined;
  /** Milliseconds until an answer, the median of five. */
  roundTripMs?: number;
}

/** The result of `examineEtcd()`. */
export interface EtcdExamination {
  /** Of all keys. */
  prefix: string;
  /** One for each endpoint. */
  members: EtcdMemberExamination[];
  /** Alarms of the cluster, such as 'NOSPACE'; none also where this user may not ask. */
  alarms: string[];
  /** Why a key below the prefix cannot be read, or written. */
  refused: { read?: string; write?: string };
  /** How long a change takes, in milliseconds; undefined: none is possible. */
  changeMs: number | undefined;
  /** Faults in words. */
  problems: string[];
  /** Whether locks work in this cluster now. */
  isUsable: boolean;
}

/**
 * A backend over an etcd cluster, for `openLockManager({ backend })`. If the URL is all that is
 * needed, `openLockManager({ url })` and `HOLDFAST_URL` do the same.
 * @param url The address, `etcd://user:password@host:2379,host2:2379/prefix?ttl=10`. With TLS
 * `etcds:`, and then also the parameters `ca`, `cert` and `key`, names of files. The parameter
 * `passwordFile` names a file as well. The files are read again for each connection and each token
 * of authentication. A dead machine's locks are free after `ttl` seconds (2 to 3600, default 10).
 * @throws TypeError when the URL is not understood, InvalidStateError when `@grpc/grpc-js` is
 * missing or a file that the URL names cannot be read
 */
export function openEtcdBackend(url: string, options?: EtcdOptions): EtcdBackend;

/**
 * Checks whether a cluster can hold locks, and if not, why. Writes a key and removes it. A member
 * that does not answer within 3 seconds counts as unreachable.
 * @param url As of {@link openEtcdBackend}.
 * @returns What was found; problems are in `problems`. Rejects as {@link openEtcdBackend} throws.
 */
export function examineEtcd(url: string, options?: EtcdOptions): Promise<EtcdExamination>;
