'use strict';

const { acceptInstancesOfCopies } = require('./copies.js');
const { lazy } = require('./lazy.js');

const keepSources = lazy(() => require('./composite-signals.js').keepSources);

/**
 * Conversions of Web IDL (https://webidl.spec.whatwg.org/#es-type-mapping), as far as this package
 * needs them. Every one of them throws a TypeError for a value that it refuses, or passes on what
 * the value's own code throws.
 */

/** @type {((this: unknown) => boolean) | undefined} found at the first use: Node loads it then */
let readAborted;

/**
 * @param {unknown} value
 * @returns {value is object} true for functions too
 */
function isObject(value) {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/**
 * DOMString: UTF-16 code units, lone surrogates are kept. A symbol is refused.
 * @param {unknown} value
 * @returns {string}
 */
function toDOMString(value) {
  return typeof value === 'string' ? value : `${value}`;
}

/**
 * @param {unknown} value
 * @returns {boolean}
 */
function toBoolean(value) {
  return !!value;
}

/**
 * Makes the conversion to an enumeration.
 * @template {string} T
 * @param {string} enumName  its name in the standard, for the message
 * @param {readonly T[]} members
 * @returns {(value: unknown) => T}
 */
function enumConverter(enumName, members) {
  return (value) => {
    const text = toDOMString(value);
    for (const member of members) {
      if (member === text) return member;
    }
    throw new TypeError(`'${text}' is not a valid value of ${enumName}: ${members.join(', ')}`);
  };
}

/**
 * [EnforceRange] unsigned long long.
 * @param {unknown} value
 * @returns {number}
 */
function toEnforcedInteger(value) {
  const integer = Math.trunc(toNumber(value));
  // False for NaN too, which is in no range.
  if (!(integer >= 0 && integer <= Number.MAX_SAFE_INTEGER)) {
    throw new TypeError(`${integer} is outside the range of 0 to ${Number.MAX_SAFE_INTEGER}`);
  }
  return integer + 0; // no negative zero
}

/**
 * unsigned long: modulo 2 ** 32.
 * @param {unknown} value
 * @returns {number}
 */
const toUnsignedLong = (value) => toNumber(value) >>> 0;

/**
 * ToNumber, which refuses bigints and symbols.
 * @param {unknown} value
 * @returns {number}
 */
const toNumber = (value) => +(/** @type {any} */ (value));

/**
 * Callback function: any callable object.
 * @param {unknown} value
 * @returns {(...args: any[]) => unknown}
 */
function toCallback(value) {
  if (typeof value !== 'function') throw new TypeError('The callback is not a function');
  return /** @type {(...args: any[]) => unknown} */ (value);
}

/**
 * AbortSignal and what is derived from it, by the platform's own brand check: an object that only
 * looks like a signal is refused.
 * @param {unknown} value
 * @returns {AbortSignal}
 */
function toAbortSignal(value) {
  try {
    readAborted ??= Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'aborted')?.get;
    /** @type {(this: unknown) => boolean} */ (readAborted).call(value);
  } catch {
    throw new TypeError("The member 'signal' is not an AbortSignal");
  }
  return keepSources()(/** @type {AbortSignal} */ (value));
}

/**
 * The first step of converting a dictionary: an object to read its members from, or undefined where
 * all members take their defaults. Read the members in the order of their names.
 * @param {unknown} value
 * @param {string} dictionaryName  its name in the standard, for the message
 * @returns {Record<string, unknown> | undefined}
 */
function toDictionarySource(value, dictionaryName) {
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) throw new TypeError(`The value is not a ${dictionaryName} object`);
  return /** @type {Record<string, unknown>} */ (value);
}

/**
 * One member of a dictionary, converted unless it is undefined. The caller reads the member once,
 * by its name: to read it here, by any name, would cost several times as much.
 * @template T, D
 * @param {unknown} value
 * @param {(value: unknown) => T} convert
 * @param {D} defaultValue
 * @returns {T | D}
 */
function toMember(value, convert, defaultValue) {
  return value === undefined ? defaultValue : convert(value);
}

/**
 * A sequence: any object that can be iterated over.
 * @template T
 * @param {unknown} value
 * @param {(value: unknown) => T} convert
 * @returns {T[]}
 */
function toSequence(value, convert) {
  if (!isObject(value) || typeof (/** @type {any} */ (value)[Symbol.iterator]) !== 'function') {
    throw new TypeError('The value is not a sequence');
  }
  return Array.from(/** @type {Iterable<unknown>} */ (value), (element) => convert(element));
}

/**
 * Gives the attributes and operations of an interface the property attributes of Web IDL (classes
 * make them non-enumerable) and the prototype its toStringTag. Instances of all copies of the
 * package are instances of the interface.
 * @param {Function} interfaceObject
 * @param {string} name
 * @param {readonly string[]} members  names on the prototype
 */
function defineInterface(interfaceObject, name, members) {
  acceptInstancesOfCopies(interfaceObject, name);
  for (const member of members) {
    Object.defineProperty(interfaceObject.prototype, member, { enumerable: true });
  }
  Object.defineProperty(interfaceObject.prototype, Symbol.toStringTag, {
    value: name,
    configurable: true,
  });
}

module.exports = {
  isObject,
  toDOMString,
  toBoolean,
  toEnforcedInteger,
  toNumber,
  toUnsignedLong,
  enumConverter,
  toCallback,
  toAbortSignal,
  toDictionarySource,
  toMember,
  toSequence,
  defineInterface,
};
