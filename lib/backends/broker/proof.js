'use strict';

const { createHmac, randomBytes, timingSafeEqual } = require('node:crypto');

/** How client and broker show each other that they have read the same claim. */

const newNonce = () => randomBytes(16).toString('hex');

/**
 * @param {string} key  of the claim
 * @param {'client' | 'broker'} role
 * @param {string} nonce  of the other side
 */
const proofOf = (key, role, nonce) =>
  createHmac('sha256', key).update(`${role}:${nonce}`).digest('hex');

/**
 * @param {string} key
 * @param {'client' | 'broker'} role
 * @param {string} nonce
 * @param {unknown} proof
 */
function isProof(key, role, nonce, proof) {
  if (typeof proof !== 'string') return false;
  const expected = Buffer.from(proofOf(key, role, nonce));
  const given = Buffer.from(proof);
  return expected.length === given.length && timingSafeEqual(expected, given);
}

module.exports = { isProof, newNonce, proofOf };
