'use strict';

// The thread of a `new Worker(url)` of a web platform test.

const path = require('node:path');
const { parentPort, workerData } = require('node:worker_threads');
const { defineGlobals, defineScope, runScript } = require('./browser-globals.js');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);

defineGlobals(workerData);
defineScope(workerData);
globalThis.postMessage = (data) => port.postMessage(data);
port.on('message', (data) => globalThis.dispatchEvent(new MessageEvent('message', { data })));
runScript(path.join(workerData.folder, workerData.file));
