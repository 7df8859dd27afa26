'use strict';

// Puts the modules of lib/ into a few files below dist/, which `exports` of package.json names.
// Node takes 0.2 ms and 20 KB for each file that it loads, whatever is in it. The text of the
// modules stays as it is, line by line, but for what they require and the folder that they are in,
// and without the lines of comments, which are in lib/.

const { mkdirSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { bundleEntries } = require('./bundle-entries.js');
const { lineMap } = require('./line-map.js');
const { commentLines, mentionsIn, replaceMentions } = require('./module-source.js');
const { ROOT } = require('./run.js');

/** @typedef {import('./module-source.js').Mention} Mention */
/** @typedef {Mention['when']} When */
/** @typedef {{ text: string, mentions: Mention[] }} Module */
/** @typedef {Map<string, Module>} Modules  by name, which is that of the file, below lib/ */
/**
 * One file of the bundle; `isWhole`: who loads it needs nearly all of its modules.
 * @typedef {{ head: string[], modules: Modules, tail: string[], isWhole: boolean }} Chunk
 */

const ENTRY = 'index.js';
/** The file with the entry and what it requires at once: all that `require` of the package runs. */
const FIRST_CHUNK = 'index';
/** With what these require at once: what the first lock needs in addition. */
const FIRST_LOCK = [
  'locks/lock-options.js',
  'locks/start-request.js',
  'backends/default-backend.js',
  'backends/shared-memory/backend.js',
];
/** Parts that are loaded as a whole, and by few programs. */
const PARTS = {
  broker: 'backends/broker/',
  etcd: 'backends/etcd/',
  metrics: 'metrics/',
  scheduler: 'scheduler/',
};

/**
 * @param {string} name
 * @param {string} required  as the module `name` names it
 */
const resolve = (name, required) => path.posix.join(path.posix.dirname(name), required);

/** What is not below lib/, like package.json, is required from where it is. @param {string} name */
const isModule = (name) => !name.startsWith('..');

/**
 * @param {string} name
 * @param {Module} module
 * @param {When[]} [when]  without it, whenever
 */
const requiredBy = (name, { mentions }, when) =>
  mentions
    .filter((mention) => mention.required !== undefined && (when?.includes(mention.when) ?? true))
    .map((mention) => resolve(name, /** @type {string} */ (mention.required)))
    .filter(isModule);

/**
 * @param {string} lib
 * @returns {(entries: string[], when?: When[]) => Modules} what the entries lead to
 */
function moduleReader(lib) {
  /** @type {Modules} */
  const known = new Map();
  const read = (/** @type {string} */ name) => {
    const text = readFileSync(path.join(lib, name), 'utf8');
    known.set(name, { text, mentions: mentionsIn(name, text) });
  };
  return (entries, when) => {
    const names = new Set(entries);
    /** @type {Modules} */
    const modules = new Map();
    for (const name of names) {
      if (!known.has(name)) read(name);
      const module = /** @type {Module} */ (known.get(name));
      modules.set(name, module);
      for (const required of requiredBy(name, module, when)) names.add(required);
    }
    return modules;
  };
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

/**
 * Bundlers of applications see which files there are.
 * @param {string[]} later  names of the other chunks
 */
const firstHead = (later) =>
  `
// An ES module has no require: esbuild puts a function in its place that throws.
const probe = () => require('node:path');
try {
  probe();
} catch (cause) {
  const line = 'mark "holdfast" as external (esbuild: --external:holdfast)';
  throw new Error(\`holdfast: cannot be bundled into an ES module without require: \${line}\`, {
    cause,
  });
}

const modules = Object.create(null);
const loaded = Object.create(null);
const chunks = {
${later.map((chunk) => `  ${chunk}: () => require('./${chunk}.js'),`).join('\n')}
};

// Runs a module once and gives what it exports. A module whose code throws is not loaded.
function load(name, chunk) {
  if (name in loaded) return loaded[name];
  if (!(name in modules)) chunks[chunk]().define(modules, load);
  const module = { exports: {} };
  modules[name](module);
  loaded[name] = module.exports;
  return module.exports;
}
`.split('\n');

const FIRST_TAIL = [
  '',
  `module.exports = load('${ENTRY}');`,
  '// For the other entries of the package, which are loaded less often.',
  "Object.defineProperty(module.exports, Symbol.for('holdfast.load'), { value: load });",
];

/**
 * @param {Modules} modules
 * @param {boolean} isWhole
 * @returns {Chunk}
 */
const laterChunk = (modules, isWhole) => ({
  head: ['exports.define = (function (modules, load) {'],
  modules,
  tail: ['});'],
  isWhole,
});

/**
 * What `require` runs; what the first lock needs; the other interfaces of the package, which
 * `import` loads; what only some of their methods need; and the parts.
 * @param {string} lib
 * @param {string[]} entries  names of modules
 * @returns {Record<string, Chunk>} by name
 */
function chunksOf(lib, entries) {
  const modulesFrom = moduleReader(lib);
  const first = modulesFrom([ENTRY], ['at once']);
  const entry = /** @type {Module} */ (first.get(ENTRY));
  const others = without(
    modulesFrom(requiredBy(ENTRY, entry, ['in a getter']), ['at once']),
    first,
  );
  const lock = without(modulesFrom(FIRST_LOCK, ['at once']), first, others);
  const rest = without(modulesFrom(entries), first, others, lock);
  /** @type {Record<string, Chunk>} */
  const chunks = { firstLock: laterChunk(lock, true), interfaces: laterChunk(others, true) };
  for (const [part, folder] of Object.entries(PARTS)) {
    const modules = new Map([...rest].filter(([name]) => name.startsWith(folder)));
    if (modules.size > 0) chunks[`${part}Part`] = laterChunk(modules, false);
    for (const name of modules.keys()) rest.delete(name);
  }
  chunks.rest = laterChunk(rest, false);
  const head = firstHead(Object.keys(chunks));
  return { [FIRST_CHUNK]: { head, modules: first, tail: FIRST_TAIL, isWhole: true }, ...chunks };
}

/**
 * The text of a module as it is in the bundle.
 * @param {string} name
 * @param {Module} module
 * @param {(name: string) => string} chunkOf  the chunk that a module is in
 */
function linked(name, { text, mentions }, chunkOf) {
  const folder = path.posix.join('../lib', path.posix.dirname(name));
  return replaceMentions(text, mentions, ({ required }) => {
    // Files at the top of lib/ are as deep as those of dist/.
    if (required === undefined) {
      return name.includes('/') ? `require('node:path').join(__dirname, '${folder}')` : '__dirname';
    }
    const target = resolve(name, required);
    return isModule(target) ? `load('${target}', '${chunkOf(target)}')` : `require('${target}')`;
  });
}

/**
 * @param {Chunk} chunk
 * @param {(name: string) => string} chunkOf  the chunk that a module is in
 * @returns {{ lines: string[], places: (import('./line-map.js').Place | null)[] }}
 */
function render({ head, modules, tail, isWhole }, chunkOf) {
  // V8 compiles a function in parentheses with the file, which costs less than to do it later.
  const [open, close] = isWhole ? ['(', ')'] : ['', ''];
  const lines = [...NOTICE, ...head];
  const places = lines.map(() => /** @type {import('./line-map.js').Place | null} */ (null));
  for (const [name, module] of modules) {
    const comments = commentLines(name, module.text);
    const body = linked(name, module, chunkOf)
      .trimEnd()
      .split('\n')
      .map((text, line) => ({ text, line }))
      .filter(({ line }) => !comments.has(line));
    lines.push(`modules['${name}'] = ${open}function (module) {`);
    lines.push(...body.map(({ text }) => text), `}${close};`);
    places.push(null, ...body.map(({ line }) => ({ source: `../lib/${name}`, line })), null);
  }
  return { lines: [...lines, ...tail], places };
}

/**
 * Whether the package has a file of lib/, which then a source map may lead to.
 * @param {string} root  of the package
 * @param {string} name  below lib/
 */
function isDelivered(root, name) {
  const text = readFileSync(path.join(root, 'package.json'), 'utf8');
  const { files } = /** @type {{ files: string[] }} */ (JSON.parse(text));
  return !files.some((entry) => entry.startsWith('!') && `lib/${name}`.startsWith(entry.slice(1)));
}

/** @param {string} [root] of the package */
function writeBundle(root = ROOT) {
  const lib = path.join(root, 'lib');
  const folder = path.join(root, 'dist');
  const entries = bundleEntries(root);
  const chunks = chunksOf(
    lib,
    entries.map(({ module }) => module),
  );
  const chunkOf = (/** @type {string} */ name) =>
    /** @type {string} */ (Object.keys(chunks).find((chunk) => chunks[chunk].modules.has(name)));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [name, chunk] of Object.entries(chunks)) {
    const { lines, places } = render(chunk, chunkOf);
    const file = `${name}.js`;
    const hasSources = [...chunk.modules.keys()].some((module) => isDelivered(root, module));
    const end = hasSources ? [`//# sourceMappingURL=${file}.map`, ''] : [''];
    writeFileSync(path.join(folder, file), [...lines, ...end].join('\n'));
    if (!hasSources) continue;
    writeFileSync(path.join(folder, `${file}.map`), JSON.stringify(lineMap(file, places)));
  }
  for (const { file, text } of entries.flatMap((entry) => entry.files(chunkOf))) {
    writeFileSync(path.join(folder, file), text);
  }
}

module.exports = { writeBundle };
