'use strict';

// The globals of a browser that the web platform tests need, and Node does not have.

const { readFileSync } = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');
const { Worker: NodeWorker } = require('node:worker_threads');

/**
 * @typedef {object} Page
 * @property {string} folder  of the tests
 * @property {string} file  in it, with slashes
 * @property {'window' | 'worker'} scope  what it is to take itself for
 */

/** @param {string} name  @param {unknown} value */
const define = (name, value) =>
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });

/**
 * Runs a script in the global scope, as <script> does.
 * @param {string} file
 * @param {string} [source]
 */
const runScript = (file, source = readFileSync(file, 'utf8')) =>
  vm.runInThisContext(source, { filename: file });

/** The global object is an event target; its listeners have it as `this`. */
function defineEvents() {
  const target = new EventTarget();
  const wrapped = new Map();
  const wrap = (/** @type {Function} */ listener) => {
    if (!wrapped.has(listener)) {
      wrapped.set(listener, (/** @type {Event} */ event) => listener.call(globalThis, event));
    }
    return wrapped.get(listener);
  };
  define('addEventListener', (type, listener, options) =>
    target.addEventListener(type, wrap(listener), options),
  );
  define('removeEventListener', (type, listener) =>
    target.removeEventListener(type, wrap(listener)),
  );
  define('dispatchEvent', (event) => target.dispatchEvent(event));
}

/** @param {Page} page */
function defineWorker({ folder, file }) {
  const base = path.dirname(path.join(folder, file));
  define(
    'Worker',
    class Worker extends EventTarget {
      #worker;

      /** @param {string} url */
      constructor(url) {
        super();
        const script = path.relative(folder, path.resolve(base, url));
        this.#worker = new NodeWorker(path.join(__dirname, 'web-worker.js'), {
          workerData: { folder, file: script, scope: 'worker' },
        });
        this.#worker.on('message', (data) =>
          this.dispatchEvent(new MessageEvent('message', { data })),
        );
        this.#worker.on('error', (error) => {
          throw error;
        });
      }

      postMessage(data) {
        this.#worker.postMessage(data);
      }

      terminate() {
        this.#worker.terminate();
      }
    },
  );
}

/** @param {Page} page */
function defineGlobals(page) {
  define('self', globalThis);
  define('location', new URL(`https://web-platform.test/${page.file}`));
  define('isSecureContext', true);
  define('fetch', async (url) => new Response(readFileSync(path.join(page.folder, url), 'utf8')));
  defineEvents();
  defineWorker(page);
  require('../../dist/install.js');
}

/**
 * Sets the kind of the global scope, by the interfaces that it has. The harness, which would search
 * for the rest of a window or worker, comes first.
 * @param {Page} page
 */
function defineScope({ scope }) {
  const isWindow = scope === 'window';
  define('GLOBAL', {
    isWindow: () => isWindow,
    isWorker: () => !isWindow,
    isShadowRealm: () => false,
  });
  const globalScope = class {
    static [Symbol.hasInstance](object) {
      return object === globalThis;
    }
  };
  define(isWindow ? 'Window' : 'DedicatedWorkerGlobalScope', globalScope);
}

module.exports = { defineGlobals, defineScope, runScript };
