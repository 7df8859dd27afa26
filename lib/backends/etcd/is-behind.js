'use strict';

/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */

/**
 * Whether a request waits for one of these, or for one of those before it.
 * @param {EtcdRequest} request
 * @param {Iterable<EtcdRequest>} held
 * @param {Iterable<EtcdRequest>} waiting  it is among them
 */
function isBehind(request, held, waiting) {
  const isExclusive = request.class === 'x';
  for (const holder of held) if (isExclusive || holder.class === 'x') return true;
  for (const other of waiting) {
    if (other === request) return false;
    if (isExclusive || other.class === 'x') return true;
  }
  return false;
}

module.exports = { isBehind };
