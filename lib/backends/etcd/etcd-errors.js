'use strict';

/** gRPC's status codes. */
const INVALID_ARGUMENT = 3;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const UNAUTHENTICATED = 16;

/** @type {Record<number, string>} */
const NAMES = {
  [INVALID_ARGUMENT]: 'QuotaExceededError',
  [PERMISSION_DENIED]: 'SecurityError',
  [RESOURCE_EXHAUSTED]: 'QuotaExceededError',
  [UNAUTHENTICATED]: 'SecurityError',
};
/** What gRPC calls an invalid argument although it is about who asks. */
const ABOUT_RIGHTS = /auth|password|user name/;

/**
 * What the cluster has refused, as the lock manager says it.
 * @param {{ name?: string, code?: number, message: string }} error  of the session's thread
 */
function toDOMException({ name, code, message }) {
  const isAboutRights = code === INVALID_ARGUMENT && ABOUT_RIGHTS.test(message);
  const ofCode = isAboutRights ? 'SecurityError' : NAMES[code ?? 0];
  const text = code === undefined ? message : `etcd refuses the request: ${message}`;
  return new DOMException(text, name ?? ofCode ?? 'InvalidStateError');
}

module.exports = { toDOMException };
