'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');

/**
 * Whether async contexts are cheap: from Node 24 on V8 carries them as a field, unless a flag of
 * Node turns that off. Without it, `AsyncLocalStorage` hooks every promise of the process once it
 * is used, and copies contexts with this method.
 */
const contextsAreCheap = !('_propagate' in AsyncLocalStorage.prototype);

module.exports = { contextsAreCheap };
