'use strict';

// One file of the web platform tests: node test/wpt/run-page.js FOLDER FILE window|worker. Prints
// what became of each of its tests, as JSON: [name, status, message][].

const { readFileSync } = require('node:fs');
const path = require('node:path');
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const { defineGlobals, defineScope, runScript } = require('./browser-globals.js');

/** @typedef {import('./browser-globals.js').Page} Page */

const STATUS = ['passed', 'failed', 'timed out', 'not run', 'not for this platform'];
const HARNESS = ['/resources/testharness.js', '/resources/testharnessreport.js'];
/** The files that the server of the tests serves under another name. */
const ALIASES = { '/resources/WebIDLParser.js': '/resources/webidl2/lib/webidl2.js' };

/**
 * The scripts of a page, in their order: files, or source between tags.
 * @param {Page} page
 * @returns {{ file?: string, source?: string }[]}
 */
function scriptsOf({ folder, file }) {
  const text = readFileSync(path.join(folder, file), 'utf8');
  if (file.endsWith('.js')) {
    const metas = [...text.matchAll(/^\/\/ META: script=(\S+)$/gm)];
    return [...metas.map(([, name]) => ({ file: name })), { source: text }];
  }
  const tags = text.matchAll(/<script(?: src="([^"]+)")?>([^]*?)<\/script>/g);
  return [...tags].map(([, src, source]) => (src === undefined ? { source } : { file: src }));
}

/** @param {Page} page */
function load(page) {
  const { folder, file } = page;
  defineGlobals(page);
  runScript(path.join(folder, HARNESS[0]));
  defineScope(page);
  const results = new Promise((resolve) =>
    globalThis.add_completion_callback((tests, { status, message }) =>
      resolve([
        ...tests.map((test) => [test.name, STATUS[test.status], test.message]),
        ...(status === 0 ? [] : [[file, 'failed', message]]),
      ]),
    ),
  );
  for (const { file: name, source } of scriptsOf(page)) {
    if (name === undefined) runScript(path.join(folder, file), source);
    else if (!HARNESS.includes(name)) {
      const url = path.posix.resolve('/', path.posix.dirname(file), name);
      runScript(path.join(folder, ALIASES[url] ?? url));
    }
  }
  return results;
}

/** Tests leave promises behind that reject, which a browser only reports. */
process.on('unhandledRejection', () => {});

if (isMainThread) {
  const [folder, file, scope] = process.argv.slice(2);
  const page = /** @type {Page} */ ({ folder, file, scope });
  const print = (/** @type {unknown} */ results) => {
    process.stdout.write(JSON.stringify(results), () => process.exit());
  };
  if (scope === 'window') load(page).then(print);
  else new Worker(__filename, { workerData: page }).on('message', print);
} else {
  load(workerData).then((results) => parentPort?.postMessage(results));
}
