'use strict';

const { createHash } = require('node:crypto');

/**
 * The longest key: an entry of an index has 2,704 bytes, and the bucket stands in it too. A longer
 * name has its first part and a hash as its key.
 */
const MAX_KEY_BYTES = 1800;
const ELLIPSIS = '…';
const PREFIX_BYTES = MAX_KEY_BYTES - 100;

/**
 * A text as JSON in ASCII: each string of UTF-16 in each encoding of a database.
 * @param {string} json
 */
const toAscii = (json) =>
  json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** @param {string} text */
const escape = (text) => toAscii(JSON.stringify(text)).slice(1, -1);

/** @param {string} escaped @returns {string} */
const unescape = (escaped) => JSON.parse(`"${escaped}"`);

/** @param {string} escaped  a name */
const isLong = (escaped) => escaped.length > MAX_KEY_BYTES;

/** @param {string} name */
function toKey(name) {
  const escaped = escape(name);
  if (!isLong(escaped)) return escaped;
  const hash = createHash('sha256').update(escaped).digest('hex');
  const prefix = escaped.slice(0, PREFIX_BYTES).replace(/\\(u?[0-9a-f]{0,3})?$/, '');
  // No name has a line break in its key.
  return `${prefix}\n${hash}`;
}

/** The name, or the beginning of a long one. @param {string} key */
function toName(key) {
  const [escaped, hash] = key.split('\n');
  if (hash === undefined) return unescape(escaped);
  // toKey() may have cut off the second of two backslashes.
  const isOdd = /(?<!\\)(?:\\\\)*\\$/.test(escaped);
  return unescape(isOdd ? escaped.slice(0, -1) : escaped) + ELLIPSIS;
}

/**
 * The part of a request that peers can read. The name stands in it where the key does not have all
 * of it.
 * @param {import('../remote/request-table.js').RequestMessage} message
 */
function toDetails({ name, since, extras }) {
  const { label = '', callSite = '', enclosing = null } = extras ?? {};
  const long = isLong(escape(name)) ? name : null;
  return toAscii(JSON.stringify([since, label, callSite, enclosing, long]));
}

/** @param {string} details @param {string} key */
function fromDetails(details, key) {
  const [since, label, callSite, enclosing, long] = JSON.parse(details);
  const enclosingToken = enclosing === null ? null : BigInt(enclosing);
  return { name: long ?? toName(key), since, label, callSite, enclosingToken };
}

module.exports = { escape, fromDetails, toAscii, toDetails, toKey, toName };
