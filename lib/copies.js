'use strict';

/**
 * Copies: a program may evaluate this package several times in one thread, from two folders of
 * node_modules, or again after `jest.resetModules()`. They share some state, so that a lock of one
 * is known to the others.
 */

/**
 * State of this thread that all copies share. The first copy makes it, and later copies may be of
 * another version. So its name ends with a number that changes with its form.
 * @template T
 * @param {string} name
 * @param {() => T} create
 * @returns {T}
 */
function sharedByCopies(name, create) {
  const key = Symbol.for(`holdfast.${name}`);
  const holder = /** @type {any} */ (process);
  if (holder[key] === undefined) Object.defineProperty(holder, key, { value: create() });
  return holder[key];
}

/**
 * Names a public class in a bundle, too, whose minifier renames classes.
 * @param {Function} constructor
 * @param {string} name
 */
function keepName(constructor, name) {
  Object.defineProperty(constructor, 'name', { value: name });
}

const hasOrdinaryInstance = Function.prototype[Symbol.hasInstance];

/**
 * Makes `instanceof` accept the instances of all copies of a class. A subclass of it is not
 * concerned.
 * @param {Function} constructor
 * @param {string} name  a literal, which all copies share
 */
function acceptInstancesOfCopies(constructor, name) {
  const brand = Symbol.for(`holdfast.${name}`);
  keepName(constructor, name);
  Object.defineProperty(constructor.prototype, brand, { value: true });
  Object.defineProperty(constructor, Symbol.hasInstance, {
    /** @this {unknown} @param {any} value */
    value(value) {
      if (hasOrdinaryInstance.call(/** @type {Function} */ (this), value)) return true;
      if (this !== constructor || typeof value !== 'object' || value === null) return false;
      return value[brand] === true && !Object.hasOwn(value, brand); // a prototype has it itself
    },
  });
}

module.exports = { acceptInstancesOfCopies, keepName, sharedByCopies };
