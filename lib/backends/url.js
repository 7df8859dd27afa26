'use strict';

const path = require('node:path');
const { fileURLToPath } = require('node:url');
const { shownUrl } = require('./shown-url.js');

/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */

/**
 * @typedef {object} BucketOptions  of a program or the environment, about a bucket
 * @property {string} [url]
 * @property {string} [bucket]
 * @property {string} [directory]
 * @property {number} [capacity]  in bytes; for shared memory
 */

/**
 * @typedef {Omit<BucketOptions, 'url'> & { url: Pick<URL, 'protocol' | 'href'> }} Address
 *   with the directory of the URL, if any
 */

/** @type {(address: Address) => LockBackend} */
function openEtcd({ url, bucket }) {
  const { openEtcdBackend } = require('./etcd/backend.js');
  return openEtcdBackend(url.href, { bucket });
}

/** @type {(address: Address) => LockBackend} */
function openPostgres({ url, bucket }) {
  const { openPostgresBackend } = require('./postgres/backend.js');
  return openPostgresBackend(url.href, { bucket });
}

/** Opens a backend, by scheme. A module is loaded when its scheme is used. */
const OPENERS = {
  /** @type {(address: Address) => LockBackend} */
  'shm:': (address) => {
    const { SharedMemoryBackend } = require('./shared-memory/backend.js');
    return new SharedMemoryBackend(address);
  },
  /** @type {(address: Address) => LockBackend} */
  'broker:': (address) => {
    const { BrokerBackend } = require('./broker/backend.js');
    return new BrokerBackend(address);
  },
  /** @type {(address: Address) => LockBackend} */
  'local:': ({ bucket = 'default' }) => {
    const { openLocalBucket } = require('./local-buckets.js');
    return openLocalBucket(bucket);
  },
  'etcd:': openEtcd,
  'etcds:': openEtcd,
  'postgres:': openPostgres,
  'postgresql:': openPostgres,
};

/** Schemes whose path is a directory of this machine. */
const DIRECTORY_SCHEMES = ['shm:', 'broker:'];

/** URLs with several hosts, which the URL standard does not know. */
const CLUSTER_PATTERN = /^(etcds?:|postgres(?:ql)?:)\/\//i;

/** @typedef {keyof typeof OPENERS} Scheme */

/**
 * @param {string} text
 * @returns {URL}
 */
function parse(text) {
  try {
    return new URL(text);
  } catch {
    // Without the cause, which would show the password.
    throw new TypeError(`The lock URL '${shownUrl(text)}' is not a URL`);
  }
}

/**
 * The directory that a URL like `broker:///srv/locks` names.
 * @param {URL} url
 * @returns {string | undefined} undefined: the URL names none
 */
function directoryOf(url) {
  const { href, host, pathname, protocol, search, hash } = url;
  if (host !== '' || search !== '' || hash !== '') {
    throw new TypeError(`The lock URL '${shownUrl(href)}' must have only a scheme and a directory`);
  }
  if (pathname === '' || pathname === '/') return undefined;
  if (!pathname.startsWith('/')) {
    throw new TypeError(`The directory of the lock URL '${shownUrl(href)}' is not absolute`);
  }
  return fileURLToPath(`file:${href.slice(protocol.length)}`);
}

/**
 * @param {string} protocol
 * @param {string} text
 * @param {Omit<BucketOptions, 'url'>} options
 * @returns {Address}
 */
function toClusterAddress(protocol, text, options) {
  if (options.directory !== undefined) {
    throw new TypeError("The member 'directory' cannot be used with a cluster");
  }
  // Throws now if the URL is wrong.
  if (protocol.startsWith('etcd')) require('./etcd/cluster-options.js').toClusterOptions(text);
  else require('./postgres/postgres-options.js').toPostgresOptions(text);
  return { ...options, url: { protocol, href: text } };
}

/**
 * @param {BucketOptions & { url: string }} options
 * @returns {Address}
 * @throws TypeError when the URL cannot be understood, or contradicts the other options
 */
function toAddress({ url: text, ...options }) {
  const [, cluster] = CLUSTER_PATTERN.exec(text) ?? [];
  if (cluster !== undefined) return toClusterAddress(cluster.toLowerCase(), text, options);
  const url = parse(text);
  if (!Object.hasOwn(OPENERS, url.protocol)) {
    const known = Object.keys(OPENERS).join(', ');
    throw new TypeError(`The lock URL '${shownUrl(text)}' has none of the known schemes: ${known}`);
  }
  const isDirectory = DIRECTORY_SCHEMES.includes(url.protocol);
  if (options.directory !== undefined && !isDirectory) {
    throw new TypeError(
      `The member 'directory' cannot be used with the lock URL '${shownUrl(text)}'`,
    );
  }
  if (url.protocol === 'local:' && url.href !== 'local:') {
    throw new TypeError(`The lock URL '${shownUrl(text)}' must have only its scheme`);
  }
  const named = isDirectory ? directoryOf(url) : undefined;
  return { ...options, url, directory: options.directory ?? named };
}

/**
 * Refuses a `url` member that cannot be opened, or that names a directory beside `directory`.
 * @param {BucketOptions} options  with a URL
 * @throws TypeError
 */
function checkUrl(options) {
  const { url, directory } = options;
  const address = toAddress({ ...options, url: /** @type {string} */ (url) });
  if (directory === undefined || !DIRECTORY_SCHEMES.includes(address.url.protocol)) return;
  if (directoryOf(/** @type {URL} */ (address.url)) === undefined) return;
  throw new TypeError(
    "The member 'directory' and the directory of the lock URL exclude each other",
  );
}

/**
 * @param {BucketOptions & { url: string }} options
 * @returns {LockBackend}
 */
function openByUrl(options) {
  const address = toAddress(options);
  if (address.directory !== undefined && !path.isAbsolute(address.directory)) {
    address.directory = path.resolve(address.directory);
  }
  return OPENERS[/** @type {Scheme} */ (address.url.protocol)](address);
}

module.exports = { checkUrl, openByUrl };
