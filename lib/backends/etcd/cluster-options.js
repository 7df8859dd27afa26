'use strict';

const { readFileSync } = require('node:fs');

/**
 * @typedef {object} ClusterOptions  which cluster, and which part of it
 * @property {string[]} endpoints  `host:port`
 * @property {string} prefix  of every key, without slashes at its ends
 * @property {string} bucket
 * @property {number} ttlMs
 * @property {boolean} isEncrypted
 * @property {Uint8Array | undefined} ca
 * @property {Uint8Array | undefined} cert
 * @property {Uint8Array | undefined} key
 * @property {string | undefined} user
 * @property {string | undefined} password
 */

/**
 * @typedef {object} EtcdOptions  what may stand beside the URL
 * @property {string} [bucket]
 * @property {string | Uint8Array} [ca]  certificates of the authorities to trust, PEM
 * @property {string | Uint8Array} [cert]  the client's certificate, PEM
 * @property {string | Uint8Array} [key]  its key, PEM
 * @property {string} [user]
 * @property {string} [password]
 */

const DEFAULT_PORT = 2379;
const DEFAULT_PREFIX = 'holdfast';
const DEFAULT_TTL_S = 10;
/** etcd keeps no lease that is shorter than an election may take. */
const MIN_TTL_S = 2;
const MAX_TTL_S = 3600;

const URL_PATTERN = /^(etcds?):\/\/(?:([^/?#@]*)@)?([^/?#@]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
const ENDPOINT_PATTERN = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/;
const PARAMETERS = ['ttl', 'ca', 'cert', 'key', 'passwordFile'];

/**
 * @param {string} url  without its password
 * @param {string} problem
 */
const urlError = (url, problem) =>
  new TypeError(
    `'${url}' is no URL of an etcd cluster: ${problem}. ` +
      'Expected: etcd://host:2379,host2:2379/prefix?ttl=10 (etcds: with TLS)',
  );

/** @param {string} url */
const withoutPassword = (url) => url.replace(/:\/\/([^/?#@:]*):[^/?#@]*@/, '://$1:…@');

/**
 * @param {string} text
 * @param {string} url
 */
function toEndpoint(text, url) {
  const match = ENDPOINT_PATTERN.exec(text);
  const port = Number(match?.[2] ?? DEFAULT_PORT);
  if (match === null || port < 1 || port > 65_535) throw urlError(url, `'${text}' is no host`);
  return `${match[1]}:${port}`;
}

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
 * @param {string | Uint8Array | undefined} given
 * @param {string | null} file
 */
function toBytes(given, file) {
  if (given !== undefined) return Buffer.from(given);
  return file === null || file === '' ? undefined : readFileSync(file);
}

/**
 * @param {string | undefined} text
 * @param {string} url
 */
function decode(text, url) {
  if (text === undefined || text === '') return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    throw urlError(url, 'a part of it is not percent-encoded text');
  }
}

/**
 * @param {URLSearchParams} parameters
 * @param {EtcdOptions} options
 * @param {string} userInfo
 * @param {string} url
 */
function toUser(parameters, options, userInfo, url) {
  const [user, ...rest] = userInfo.split(':');
  const file = parameters.get('passwordFile');
  const ofFile = file === null ? undefined : readFileSync(file, 'utf8').trimEnd();
  const password = options.password ?? decode(rest.join(':'), url) ?? ofFile;
  return { user: options.user ?? decode(user, url), password };
}

/**
 * Reads a URL `etcd://user:password@host:port,host:port/prefix?ttl=10&ca=file&cert=file&key=file`.
 * @param {string} url
 * @param {EtcdOptions} [options]
 * @returns {ClusterOptions}
 * @throws TypeError where the URL is not understood, with what is wrong
 */
function toClusterOptions(url, options = {}) {
  const match = URL_PATTERN.exec(url);
  const shown = withoutPassword(url);
  if (match === null) throw urlError(shown, 'its shape is another one');
  const [, scheme, userInfo = '', hosts, path = '', query = ''] = match;
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) {
    if (!PARAMETERS.includes(name)) throw urlError(shown, `it knows no parameter '${name}'`);
  }
  const endpoints = hosts.split(',').map((host) => toEndpoint(host, shown));
  const prefix = (decode(path, shown) ?? '').replace(/^\/+|\/+$/g, '') || DEFAULT_PREFIX;
  const isEncrypted = scheme === 'etcds';
  const files = {
    ca: toBytes(options.ca, parameters.get('ca')),
    cert: toBytes(options.cert, parameters.get('cert')),
    key: toBytes(options.key, parameters.get('key')),
  };
  if (!isEncrypted && Object.values(files).some((file) => file !== undefined)) {
    throw urlError(shown, 'certificates need etcds:');
  }
  return {
    endpoints: [...new Set(endpoints)],
    prefix,
    bucket: options.bucket ?? 'default',
    ttlMs: toTtlMs(parameters.get('ttl'), shown),
    isEncrypted,
    ...files,
    ...toUser(parameters, options, userInfo, shown),
  };
}

module.exports = { toClusterOptions };
