'use strict';

const HOST = String.raw`(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?`;
const USER = String.raw`(?:([^/?#@:]*)(:[^/?#@]*)?@)?`;
const ADDRESS = String.raw`(${HOST}(?:,${HOST})*(?:\/[^?#]*)?(?:\?[a-z]+=[^#]*)?)`;
/** All of it is escaped as it has to be. */
const CLUSTER = new RegExp(String.raw`^(etcds?:\/\/)${USER}${ADDRESS}$`, 'i');
/** The schemes of one machine, which have no users. */
const LOCAL = /^(?:shm|broker|local):/i;

/** pg takes the password as a parameter, too. */
const PARAMETER = /([?&]password=)([^&#]*)/gi;

/**
 * A lock URL for a person to read, who may show it to others: without its password. If it is
 * another URL, or not escaped, everything from the first ':' to the last '@' may be the password.
 * @param {string} given
 */
function shownUrl(given) {
  if (LOCAL.test(given)) return given;
  // An '@' stays: what is before it may be the rest of a password that is not escaped.
  const url = given.replace(
    PARAMETER,
    (_, name, value) => name + (value.includes('@') ? '@…' : '…'),
  );
  const cluster = CLUSTER.exec(url);
  if (cluster !== null) {
    const [, scheme, user, password, rest] = cluster;
    if (user === undefined) return url;
    return `${scheme}${user}${password === undefined ? '' : ':…'}@${rest}`;
  }
  const start = url.indexOf('://') < 0 ? 0 : url.indexOf('://') + 3;
  const [colon, at] = [url.indexOf(':', start), url.lastIndexOf('@')];
  return colon < 0 || at < colon ? url : `${url.slice(0, colon)}:…${url.slice(at)}`;
}

module.exports = { shownUrl };
