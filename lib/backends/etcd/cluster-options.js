'use strict';

const { readFileSync } = require('node:fs');
const { resolve } = require('node:path');
const { invalidStateError } = require('../../errors.js');
const { OF_ETCD, warnOfMisspeltOptions } = require('../../option-names.js');
const { toDictionarySource, toDOMString, toMember } = require('../../webidl.js');
const { DEFAULT_TTL_S, TTL_RANGE, isTtl } = require('../remote/ttl.js');
const { shownUrl } = require('../shown-url.js');

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
 * @property {SecretFiles} files  that ca, cert, key and the password are in
 */

/**
 * @typedef {object} SecretFiles  with absolute names
 * @property {string} [ca]
 * @property {string} [cert]
 * @property {string} [key]
 * @property {string} [password]
 */

/** @typedef {import('../../../types/etcd.d.ts').EtcdOptions} EtcdOptions */

const DEFAULT_PORT = 2379;
const DEFAULT_PREFIX = 'holdfast';

const URL_PATTERN = /^(etcds?):\/\/(?:([^/?#@]*)@)?([^/?#@]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/i;
const ENDPOINT_PATTERN = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/;
const NOT_ESCAPED = 'a part of it is not percent-encoded';
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

/**
 * @param {string} text
 * @param {string} url
 */
function toEndpoint(text, url) {
  const match = ENDPOINT_PATTERN.exec(text);
  const port = Number(match?.[2] ?? DEFAULT_PORT);
  if (match === null || port < 1 || port > 65_535) {
    // A text that is not in the URL as it is shown may be a part of the password.
    throw urlError(url, url.includes(text) ? `'${text}' is no host` : NOT_ESCAPED);
  }
  return `${match[1]}:${port}`;
}

/**
 * @param {string | undefined} file
 * @param {string} parameter  that names it
 * @param {string} url
 */
function readNamed(file, parameter, url) {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    throw invalidStateError(`The file of '${parameter}' in '${url}' cannot be read: ${message}`);
  }
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
    throw urlError(url, NOT_ESCAPED);
  }
}

/**
 * @param {EtcdOptions} options
 * @param {string} userInfo
 * @param {string} url
 * @returns {{ user: string | undefined, password: string | undefined }}
 */
function toUser(options, userInfo, url) {
  const [user, ...rest] = userInfo.split(':');
  return {
    user: options.user ?? decode(user, url),
    password: options.password ?? decode(rest.join(':'), url),
  };
}

/**
 * The files of secrets that are not given in another way.
 * @param {URLSearchParams} parameters
 * @param {EtcdOptions} given
 * @returns {SecretFiles}
 */
function toFiles(parameters, given) {
  const fileOf = (/** @type {string} */ parameter, /** @type {unknown} */ instead) => {
    const file = parameters.get(parameter);
    return file === null || instead !== undefined ? undefined : resolve(file);
  };
  return {
    ca: fileOf('ca', given.ca),
    cert: fileOf('cert', given.cert),
    key: fileOf('key', given.key),
    password: fileOf('passwordFile', given.password),
  };
}

/**
 * Reads a URL `etcd://user:password@host:port,host:port/prefix?ttl=10&ca=file&cert=file&key=file`.
 * @param {string} url
 * @param {EtcdOptions | null} [given]
 * @returns {ClusterOptions}
 * @throws TypeError where the URL is not understood, with what is wrong; a DOMException
 *   InvalidStateError when a file cannot be read
 */
function toClusterOptions(url, given = undefined) {
  const options = /** @type {EtcdOptions} */ (toDictionarySource(given, 'EtcdOptions') ?? {});
  warnOfMisspeltOptions(options, OF_ETCD);
  if (typeof url !== 'string') {
    throw new TypeError(
      `Expected a URL of an etcd cluster, not ${url === null ? url : typeof url}`,
    );
  }
  const match = URL_PATTERN.exec(url);
  const shown = shownUrl(url);
  if (match === null) throw urlError(shown, 'its shape is another one');
  const [, scheme, userInfo, hosts, path = '', query = ''] = match;
  const isCut = shown !== url && shown.includes('@'); // behind the password
  if (userInfo === undefined && isCut) throw urlError(shown, NOT_ESCAPED);
  const parameters = new URLSearchParams(query);
  for (const [name, value] of parameters) {
    if (!PARAMETERS.includes(name)) throw urlError(shown, `the parameter '${name}' is unknown`);
    if (value === '') throw urlError(shown, `the parameter '${name}' is empty`);
  }
  const ttl = Number(parameters.get('ttl') ?? DEFAULT_TTL_S);
  if (!isTtl(ttl)) throw urlError(shown, `'ttl' ${TTL_RANGE}`);
  const endpoints = hosts.split(',').map((host) => toEndpoint(host, shown));
  const prefix = (decode(path, shown) ?? '').replace(/^\/+|\/+$/g, '') || DEFAULT_PREFIX;
  const isEncrypted = scheme.toLowerCase() === 'etcds';
  const { user, password } = toUser(options, userInfo ?? '', shown);
  const files = toFiles(parameters, { ...options, password });
  const toBytes = (/** @type {'ca' | 'cert' | 'key'} */ what) => {
    const bytes = options[what];
    if (bytes === undefined) return readNamed(files[what], what, shown);
    if (typeof bytes === 'string' || ArrayBuffer.isView(bytes)) return Buffer.from(bytes);
    throw new TypeError(`The member '${what}' is neither a string nor bytes`);
  };
  const certificates = { ca: toBytes('ca'), cert: toBytes('cert'), key: toBytes('key') };
  if (!isEncrypted && Object.values(certificates).some((it) => it !== undefined)) {
    throw urlError(shown, 'certificates need etcds:');
  }
  return {
    endpoints: [...new Set(endpoints)],
    prefix,
    bucket: toMember(options.bucket, toDOMString, 'default'),
    ttlMs: ttl * 1000,
    isEncrypted,
    ...certificates,
    user,
    password: password ?? readNamed(files.password, 'passwordFile', shown)?.toString().trimEnd(),
    files,
  };
}

module.exports = { toClusterOptions };
