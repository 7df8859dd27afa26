'use strict';

// Tokens cross as strings, because JSON has no such values.

/** @param {bigint | null | undefined} token */
const toText = (token) => (typeof token === 'bigint' ? `${token}` : token);

/** @param {any} item  a detail or an event */
const toPlain = (item) => ({
  ...item,
  token: toText(item.token),
  enclosingToken: toText(item.enclosingToken),
});

/** @param {string | null} text */
const toToken = (text) => (text === null ? null : BigInt(text));

/**
 * @param {any} detail  as it crosses
 * @returns {import('../../../types/backend.d.ts').LockDetail}
 */
const toDetail = (detail) => ({
  ...detail,
  token: toToken(detail.token),
  enclosingToken: toToken(detail.enclosingToken),
});

/**
 * @param {{ held: any[], pending: any[] }} inspection  as it crosses
 * @returns {import('../../../types/backend.d.ts').LockInspection}
 */
const toInspection = ({ held, pending, ...rest }) => ({
  held: held.map(toDetail),
  pending: pending.map(toDetail),
  ...rest,
});

/**
 * @param {any} event  as it crosses
 * @returns {import('../../../types/backend.d.ts').LockEvent}
 */
const toEvent = (event) => ({ ...event, token: toToken(event.token) });

module.exports = { toDetail, toEvent, toInspection, toPlain };
