'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');

/**
 * Whether async contexts are cheap: V8 carries them along as a field (from Node 24 on, unless a
 * flag of Node turns that off). Elsewhere `AsyncLocalStorage` hooks every promise of the process
 * from its first use on, and hands contexts on by this method.
 */
const contextsAreCheap = !('_propagate' in AsyncLocalStorage.prototype);

module.exports = { contextsAreCheap };
