'use strict';

/** Hosts with their ports, after a user and a password that are escaped as they have to be. */
const AS_IT_HAS_TO_BE =
  /^[^:/]+:\/\/(?:[^/?#@]*@)?(?:\[[^\]]*\]|[^/?#@:,[]+)(?::\d+)?(?:,[^/?#@]*)?(?:[/?#]|$)/;

/**
 * A lock URL for a person to read, who may show it to others: without its password. Where what
 * stands in it is not escaped, everything up to the last '@' may be the password.
 * @param {string} url
 */
function shownUrl(url) {
  const password = AS_IT_HAS_TO_BE.test(url) ? /(:\/\/[^/?#@:]*):[^/?#@]*@/ : /(:[^@:]*):[^]*@/;
  return url.replace(password, '$1:…@');
}

module.exports = { shownUrl };
