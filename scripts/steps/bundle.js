'use strict';

// Puts the modules of lib/ into a few files below dist/. Node takes 0.2 ms and 20 KB for each file
// that it loads, whatever is in it. The text of the modules stays as it is, line by line, but for
// the names that they require and the folder that they are in.

const { mkdirSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { lineMap } = require('./line-map.js');
const { ROOT } = require('./run.js');

/** @typedef {Map<string, string>} Modules  text by name, which is that of the file, below lib/ */
/** @typedef {{ head: string[], modules: Modules, tail: string[] }} Chunk  one file of the bundle */

const ENTRY = 'index.js';
/** With the entry, and what both require at once: what the first lock needs. */
const FIRST = [ENTRY, 'backends/default-backend.js'];

const REQUIRE = /\brequire\('(\.[^']+)'\)/g;
/** Those that run when their module is loaded, and not in a function. */
const REQUIRE_AT_ONCE = /^(?:const [^(]*|\} )= require\('(\.[^']+)'\)/gm;

/**
 * @param {string} name
 * @param {string} required  as the module `name` names it
 */
const resolve = (name, required) => path.posix.join(path.posix.dirname(name), required);

/**
 * @param {string} name
 * @param {string} text
 * @param {RegExp} pattern  of the requires that count
 */
const requiredBy = (name, text, pattern) =>
  [...text.matchAll(pattern)].map(([, required]) => resolve(name, required));

/**
 * @param {string} lib
 * @param {string[]} entries
 * @param {RegExp} pattern
 * @returns {Modules} what the entries lead to
 */
function modulesFrom(lib, entries, pattern) {
  /** @type {Modules} */
  const modules = new Map();
  const names = [...entries];
  for (const name of names) {
    if (modules.has(name)) continue;
    const text = readFileSync(path.join(lib, name), 'utf8');
    modules.set(name, text);
    names.push(...requiredBy(name, text, pattern));
  }
  return modules;
}

/**
 * @param {Modules} modules
 * @param {Modules[]} others
 */
const without = (modules, ...others) =>
  new Map([...modules].filter(([name]) => others.every((other) => !other.has(name))));

const NOTICE = [
  "'use strict';",
  '',
  '// Made of the files of lib/ by scripts/steps/bundle.js.',
  '',
];

const FIRST_HEAD = `
const modules = Object.create(null);
const loaded = Object.create(null);

// What a module exports, as require() gives it. A module whose code throws is not loaded.
function load(name, chunk) {
  if (name in loaded) return loaded[name];
  if (!(name in modules)) require(chunk).define(modules, load);
  const module = { exports: {} };
  modules[name](module);
  loaded[name] = module.exports;
  return module.exports;
}
`.split('\n');

/** @param {Modules} modules @returns {Chunk} */
const laterChunk = (modules) => ({
  head: ['exports.define = (modules, load) => {'],
  modules,
  tail: ['};'],
});

/**
 * What every lock needs; the other interfaces of the package, which an import gives names to and
 * therefore loads; and what only some of their methods need.
 * @param {string} lib
 * @returns {Record<string, Chunk>} by file
 */
function chunksOf(lib) {
  const first = modulesFrom(lib, FIRST, REQUIRE_AT_ONCE);
  const others = requiredBy(ENTRY, /** @type {string} */ (first.get(ENTRY)), REQUIRE);
  const interfaces = without(modulesFrom(lib, others, REQUIRE_AT_ONCE), first);
  const rest = without(modulesFrom(lib, [ENTRY], REQUIRE), first, interfaces);
  return {
    'index.js': { head: FIRST_HEAD, modules: first, tail: [`module.exports = load('${ENTRY}');`] },
    'interfaces.js': laterChunk(interfaces),
    'rest.js': laterChunk(rest),
  };
}

/**
 * The text of a module as it is in the bundle.
 * @param {string} name
 * @param {string} text
 * @param {(name: string) => string} fileOf  the chunk that a module is in
 */
function linked(name, text, fileOf) {
  const folder = path.posix.join('../lib', path.posix.dirname(name));
  return text
    .replace(REQUIRE, (_, required) => {
      const target = resolve(name, required);
      return `load('${target}', './${fileOf(target)}')`;
    })
    .replace(/\b__dirname\b/g, `require('node:path').join(__dirname, '${folder}')`);
}

/**
 * @param {Chunk} chunk
 * @param {(name: string) => string} fileOf  the chunk that a module is in
 * @returns {{ lines: string[], places: (import('./line-map.js').Place | null)[] }}
 */
function render({ head, modules, tail }, fileOf) {
  const lines = [...NOTICE, ...head];
  const places = lines.map(() => /** @type {import('./line-map.js').Place | null} */ (null));
  for (const [name, text] of modules) {
    const body = linked(name, text, fileOf).trimEnd().split('\n');
    // In parentheses: then it is compiled with the file, which costs less than to do it later.
    lines.push(`modules['${name}'] = (function (module) {`, ...body, '});');
    places.push(null, ...body.map((_, line) => ({ source: `../lib/${name}`, line })), null);
  }
  return { lines: [...lines, ...tail], places };
}

/** @param {string} [root] of the package */
function writeBundle(root = ROOT) {
  const chunks = chunksOf(path.join(root, 'lib'));
  const fileOf = (/** @type {string} */ name) =>
    /** @type {string} */ (Object.keys(chunks).find((file) => chunks[file].modules.has(name)));
  const folder = path.join(root, 'dist');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [file, chunk] of Object.entries(chunks)) {
    const { lines, places } = render(chunk, fileOf);
    const text = [...lines, `//# sourceMappingURL=${file}.map`, ''].join('\n');
    writeFileSync(path.join(folder, file), text);
    writeFileSync(path.join(folder, `${file}.map`), JSON.stringify(lineMap(file, places)));
  }
}

module.exports = { writeBundle };
