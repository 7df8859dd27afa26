'use strict';

const { runInThisContext } = require('node:vm');
const { lazy } = require('../lazy.js');

/** @typedef {{ leave(): void }} Leaver  called after the last 'exit' listener */

/**
 * @typedef {object} Outside
 * @property {Set<object>} busy  objects that are not collected
 * @property {() => void} ignore
 * @property {(stream: { destroy(): unknown }) => void} destroy
 * @property {<T extends (...args: any[]) => unknown>(callback: T, otherwise?: T) => T} weakly
 *   refers to the callback weakly; once that is collected, calls the other function
 * @property {(owner: object, resource: any, method: string, ...args: any[]) => void} onCollected
 *   calls a method of a resource, which must not refer to its owner
 * @property {<T>(value: T) => T} clone
 * @property {(leaver: Leaver) => void} leaveAfterExit  keeps it weakly, until it is forgotten
 * @property {(leaver: Leaver) => void} doNotLeaveAfterExit
 */

/**
 * Functions for sockets, threads and child processes, which live longer than an evaluation of this
 * package that the program has dropped. Each function of an evaluation refers to all of it: in a
 * bundle by its scope, in Jest by its realm. These are compiled outside and refer to none. All
 * evaluations of a thread share them, in the form of the first one: the number of the key changes
 * with the form.
 */
const outside = lazy(
  () =>
    /** @type {Outside} */ (
      runInThisContext(
        `(() => {
          const key = Symbol.for('holdfast.outside.2');
          if (globalThis[key] !== undefined) return globalThis[key];
          const ignore = () => {};
          const registry = new FinalizationRegistry(({ resource, method, args }) => {
            resource[method](...args);
          });
          let leavers;
          // Once for all evaluations. A package that wraps process.emit() later (signal-exit)
          // calls its listeners after Node has called the 'exit' listeners. So the outermost
          // wrapper calls leave(): reallyExit() at process.exit(); otherwise emit(), which is
          // wrapped once more before such an end.
          const wrapEnds = () => {
            const leaveAll = () => {
              for (const leaver of leavers.splice(0)) leaver.deref()?.leave();
            };
            const beforeEnd = ['beforeExit', 'uncaughtExceptionMonitor'];
            const wrappers = new WeakSet();
            const wrapEmit = () => {
              const { emit } = process;
              const emitThenLeave = function (...args) {
                if (beforeEnd.includes(args[0]) && !wrappers.has(process.emit)) wrapEmit();
                try {
                  return Reflect.apply(emit, this, args);
                } finally {
                  if (args[0] === 'exit' && process.emit === emitThenLeave) leaveAll();
                }
              };
              wrappers.add(emitThenLeave);
              process.emit = emitThenLeave;
            };
            wrapEmit();
            const { reallyExit } = process;
            process.reallyExit = function leaveThenExit(...args) {
              leaveAll();
              return Reflect.apply(reallyExit, this, args);
            };
            return [];
          };
          const value = {
            busy: new Set(),
            ignore,
            destroy: (stream) => void stream.destroy(),
            weakly(callback, otherwise = ignore) {
              const weak = new WeakRef(callback);
              return (...args) => (weak.deref() ?? otherwise)(...args);
            },
            onCollected(owner, resource, method, ...args) {
              registry.register(owner, { resource, method, args });
            },
            clone: (value) => structuredClone(value),
            leaveAfterExit(leaver) {
              value.doNotLeaveAfterExit(leaver);
              leavers ??= wrapEnds();
              leavers.push(new WeakRef(leaver));
            },
            doNotLeaveAfterExit(leaver) {
              leavers = leavers?.filter((it) => ![undefined, leaver].includes(it.deref()));
            },
          };
          Object.defineProperty(globalThis, key, { value });
          return value;
        })()`,
        { filename: 'holdfast-outside.js' },
      )
    ),
);

module.exports = { outside };
