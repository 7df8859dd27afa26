'use strict';

// Makes dist/ of lib/: each entry of the package, each program and each thread is one file, which
// is read whole at its first use. So a program keeps the code that it has started with when the
// package is replaced on disk.

const { execFileSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const {
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} = require('node:fs');
const path = require('node:path');
const { decode, encode } = require('@jridgewell/sourcemap-codec');
const acorn = require('acorn');
const esbuild = require('esbuild');
const { ROOT } = require('./run.js');

/** With all that the package exports, and all that these require: the files of a first lock. */
const FIRST_LOCK = [
  'locks/lock-options.js',
  'locks/lock-request.js',
  'backends/default-backend.js',
  'backends/shared-memory/backend.js',
];

/**
 * Prints the modules that `require` of the package, a first lock, and all exports load: `import`
 * reads each export.
 */
const PRINT_LOADED = `
const [lib, ...modules] = process.argv.slice(1);
const path = require('node:path');
const loaded = () => Object.keys(require.cache).map((file) => path.relative(lib, file));
const core = require(lib + '/index.js');
const index = loaded();
void core.locks;
for (const module of modules) require(lib + '/' + module);
const locks = loaded();
void { ...core };
console.log(JSON.stringify({ index, locks, exported: loaded() }));`;

/**
 * A file that a thread loads once. The exports of the module `entry` are the exports of the file.
 * All modules of an eager file run when it is loaded. A program is minified, without a source map.
 * @typedef {{
 *   entry?: string,
 *   has: (module: string) => boolean,
 *   isEager?: boolean,
 *   isProgram?: boolean,
 * }} SharedFile
 */

/** @param {string} lib @returns {Promise<Record<string, SharedFile>>} by name */
async function sharedFiles(lib) {
  const printed = execFileSync(process.execPath, ['--eval', PRINT_LOADED, lib, ...FIRST_LOCK]);
  const { index, locks, exported } = JSON.parse(String(printed));
  const ofCallers = await esbuild.build({
    ...optionsFor(lib),
    entryPoints: ['index.js', 'etcd.js', 'postgres.js'].map((file) => path.join(lib, file)),
    metafile: true,
    outdir: lib,
    write: false,
  });
  return {
    index: { entry: 'index.js', has: (module) => index.includes(module), isEager: true },
    locks: { has: (module) => locks.includes(module), isEager: true },
    interfaces: { has: (module) => exported.includes(module), isEager: true },
    'broker-client': { has: (module) => module.startsWith('backends/broker/') },
    etcd: {
      entry: 'etcd.js',
      has: (module) =>
        module === 'etcd.js' ||
        (module.startsWith('backends/etcd/') && module in ofCallers.metafile.inputs),
    },
    postgres: {
      entry: 'postgres.js',
      has: (module) => module === 'postgres.js' || module.startsWith('backends/postgres/'),
    },
    remote: { has: (module) => module.startsWith('backends/remote/') },
    'session-thread': {
      entry: 'backends/remote/session-thread.js',
      has: (module) => /^backends\/(etcd|postgres|remote)\//.test(module),
      isProgram: true,
    },
    metrics: { entry: 'metrics/index.js', has: (module) => module.startsWith('metrics/') },
    rest: { has: () => true },
  };
}

/** Separate programs and a thread, with all modules that they need. */
const HELPERS = {
  broker: 'backends/broker/server/main.js',
  'sync-thread': 'backends/broker/sync-thread.js',
};

/** Modules that stand in each file: a file compares its own with the copy of another file. */
const IN_EACH_FILE = new Set(['build-id.js']);

/** The property of a file of SHARED that gives its modules to the others. */
const MODULES = "Symbol.for('holdfast.modules')";

/**
 * Files that are read with locks.js and become texts at their first use. To compile all at once
 * would take half of the time of a first lock.
 */
const KEPT = ['interfaces', 'rest'];

/** @param {string} name */
const keepFile = (name) =>
  `module.exports.${name} = keep('${name}.js', () => require('./${name}.js'));`;

/**
 * A part of locks.js. Without modules of Node, `require` loads a kept file, and refuses another
 * build. This is so on Bun, in a test runner or in the bundle of an application.
 */
const KEEP_FILES = `
const path = require('node:path');
const { readFileSync } = require('node:fs');
const loadedBy = typeof __filename === 'string' ? require.cache?.[__filename] : undefined;
const isNode = process.versions.bun === undefined && process.versions.deno === undefined;
function readKept(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined; // the application is bundled
  }
}
function keep(name, load) {
  const canKeep = isNode && loadedBy?._compile;
  const file = canKeep && path.join(path.dirname(loadedBy.filename), name);
  let bytes = canKeep && readKept(file);
  let loaded;
  return () => (loaded ??= compile());
  function compile() {
    const text = bytes?.toString();
    bytes = undefined;
    if (!text?.includes(BUILD_ID)) return load();
    const module = new loadedBy.constructor(file, loadedBy);
    Object.assign(module, { filename: file, paths: loadedBy.paths });
    module._compile(text, file);
    return module.exports;
  }
}
${KEPT.map(keepFile).join('\n')}`;

/** @param {string} file @returns {string} an expression for the exports of another file */
const exportsOf = (file) =>
  KEPT.includes(file) ? `require('./locks.js').${file}()` : `require('./${file}.js')`;

/** @param {string} file @returns {string} an expression for the modules of another file */
const modulesOf = (file) => `${exportsOf(file)}[${MODULES}](BUILD_ID)`;

/** Bundlers of applications make ES modules, in which there is no require. */
const NEEDS_REQUIRE = `
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
`;

/** Names the build: another text of lib/ has another one. @param {string} lib */
function buildIdOf(lib) {
  const hash = createHash('sha256');
  for (const name of readdirSync(lib, { recursive: true, encoding: 'utf8' }).toSorted()) {
    if (/\.(js|mjs|proto)$/.test(name))
      hash.update(name).update(readFileSync(path.join(lib, name)));
  }
  return hash.digest('hex').slice(0, 12);
}

/** The library reads only these fields of package.json. @type {import('esbuild').Plugin} */
const PACKAGE = {
  name: 'name and version of the package',
  setup: (build) => {
    build.onLoad({ filter: /package\.json$/ }, ({ path: file }) => {
      const { name, version } = JSON.parse(readFileSync(file, 'utf8'));
      return { contents: JSON.stringify({ name, version }), loader: 'json' };
    });
  },
};

/** @param {string} lib @returns {import('esbuild').BuildOptions} */
const optionsFor = (lib) => ({
  absWorkingDir: lib,
  bundle: true,
  define: { BUILD_ID: JSON.stringify(buildIdOf(lib)) },
  external: ['@grpc/grpc-js', 'pg'],
  legalComments: 'inline',
  logLevel: 'warning',
  platform: 'node',
  plugins: [PACKAGE],
  target: 'node20',
});

/** A module in a bundle: one line with its name, its text, and the end of its function. */
const MODULE = /^( {2}".*?")(\(.*?\) \{\n[\s\S]*?\n {2}\})(?=\n\}\);$)/gm;

/**
 * Modules that run as soon as their file is loaded: V8 compiles a function in parentheses at once.
 * It would read another function twice, first only to find its end.
 * @param {string} js
 */
const withEagerModules = (js) => js.replace(MODULE, '$1: (function$2)');

/**
 * Removes the bytes of a bundle that V8 would read for nothing: indentation and comments. A line
 * stays a line. The source map keeps what a stack trace needs, the line of each place. Without the
 * text of lib/ and without columns the map takes a tenth.
 * @param {string} js
 * @param {import('@jridgewell/sourcemap-codec').SourceMapMappings} mappings
 */
function withoutIdleBytes(js, mappings) {
  /** @type {Set<number>} counted from 0; a template has its line breaks and spaces in its value */
  const begunInTemplate = new Set();
  let code = js;
  acorn.parse(js, {
    ecmaVersion: 'latest',
    locations: true,
    onComment: (_isBlock, text, start, end) => {
      if (/^[!#]/.test(text)) return; // a license, the name of the source map
      const blank = js.slice(start, end).replaceAll(/\S/g, ' ');
      code = code.slice(0, start) + blank + code.slice(end);
    },
    onToken: ({ type, loc }) => {
      if (type !== acorn.tokTypes.template || loc === undefined) return;
      for (let { line } = loc.start; line < loc.end.line; line += 1) begunInTemplate.add(line);
    },
  });
  const lines = code.split('\n').map((line, index) => {
    const idle = begunInTemplate.has(index) ? 0 : line.length - line.trimStart().length;
    let source = -1;
    let sourceLine = -1;
    const positions = (mappings[index] ?? []).flatMap(([column, ...position]) => {
      if (position.length === 0 || (position[0] === source && position[1] === sourceLine))
        return [];
      [source, sourceLine] = position;
      return [[Math.max(0, column - idle), source, sourceLine, 0]];
    });
    const rest = line.slice(idle);
    const text = begunInTemplate.has(index + 1) ? rest : rest.trimEnd(); // behind it was a comment
    return { text, isIdle: idle > 0 && idle === line.length, positions };
  });
  const kept = lines.filter(({ isIdle }) => !isIdle);
  return {
    js: kept.map(({ text }) => text).join('\n'),
    mappings: encode(/** @type {any} */ (kept.map(({ positions }) => positions))),
  };
}

/** The files that a process shares, and the modules that one of them takes from another. */
class SharedBuild {
  #lib;
  #dist;
  #files;
  /** @type {Set<string>} */
  #used = new Set(['install.js']);

  /** @param {string} lib @param {string} dist @param {Record<string, SharedFile>} files */
  constructor(lib, dist, files) {
    this.#lib = lib;
    this.#dist = dist;
    this.#files = files;
  }

  async write() {
    // Each round may find more modules that another file takes.
    for (let known = 0; known < this.#used.size;) {
      known = this.#used.size;
      await Promise.all(Object.keys(this.#files).map((file) => this.#writeFile(file)));
    }
    writeFileSync(
      path.join(this.#dist, 'install.js'),
      `'use strict';\n\nrequire('./index.js');\nmodule.exports = ${this.#moduleOf('install.js')};\n`.replace(
        'BUILD_ID',
        JSON.stringify(buildIdOf(this.#lib)),
      ),
    );
  }

  /** @param {string} file */
  async #writeFile(file) {
    const outfile = path.join(this.#dist, `${file}.js`);
    const { isEager = false, isProgram = false } = this.#files[file];
    const { outputFiles } = await esbuild.build({
      ...optionsFor(this.#lib),
      banner: { js: file === 'index' ? NEEDS_REQUIRE : '' },
      minify: isProgram,
      outfile,
      plugins: [PACKAGE, this.#pluginFor(file)],
      sourcemap: !isProgram,
      sourcesContent: false,
      stdin: {
        contents: this.#textOf(file),
        resolveDir: this.#lib,
        sourcefile: `entry of ${file}.js`,
      },
      write: false,
    });
    const textOf = (/** @type {string} */ ending) =>
      outputFiles.find(({ path: name }) => name.endsWith(ending))?.text ?? '';
    if (isProgram) return writeFileSync(outfile, textOf('.js'));
    const map = JSON.parse(textOf('.map'));
    const { js, mappings } = withoutIdleBytes(
      isEager ? withEagerModules(textOf('.js')) : textOf('.js'),
      decode(map.mappings),
    );
    writeFileSync(outfile, js);
    writeFileSync(`${outfile}.map`, JSON.stringify({ ...map, names: [], mappings }));
  }

  /** @param {string} module  below lib/ @returns {string} the file that has it */
  #fileOf(module) {
    const names = Object.keys(this.#files);
    return /** @type {string} */ (names.find((name) => this.#files[name].has(module)));
  }

  /**
   * The exports of a file, and a table of its modules for the others.
   * @param {string} file
   */
  #textOf(file) {
    const { entry } = this.#files[file];
    const modules = [...this.#used].filter((module) => this.#fileOf(module) === file).toSorted();
    return `
      const { checkBuild } = require('./build-id.js');
      module.exports = ${entry === undefined ? '{}' : `require('./${entry}')`};
      const modules = {
        ${modules.map((module) => `'${module}': () => require('./${module}'),`).join('\n')}
      };
      const value = (build) => {
        checkBuild(build);
        return modules;
      };
      Object.defineProperty(module.exports, ${MODULES}, { value });
      ${file === 'locks' ? KEEP_FILES : ''}`;
  }

  /** @param {string} module  of another file @returns {string} an expression */
  #moduleOf(module) {
    return `${modulesOf(this.#fileOf(module))}['${module}']()`;
  }

  /**
   * @param {string} found  an expression that requires a module
   * @param {string} target  the path of the module
   * @param {string} file  that is made
   * @returns {string} the expression in that file
   */
  #requireOf(found, target, file) {
    const module = path.relative(this.#lib, target).split(path.sep).join('/');
    if (!module.endsWith('.js') || IN_EACH_FILE.has(module)) return found;
    const other = this.#fileOf(module);
    if (other === file) return found;
    this.#used.add(module);
    return `require('file of ${other}')['${module}']()`;
  }

  /** @param {string} file @returns {import('esbuild').Plugin} */
  #pluginFor(file) {
    return {
      name: 'modules of other files',
      setup: (build) => {
        build.onResolve({ filter: /^file of / }, ({ path: name }) => ({
          path: name,
          namespace: 'other file',
        }));
        build.onResolve({ filter: /^\.\/[^/]*$/ }, ({ path: required, namespace }) => {
          const isKept = KEPT.some((name) => required === `./${name}.js`);
          const isFile = isKept || namespace === 'other file';
          return isFile ? { path: required, external: true } : undefined;
        });
        // Comments that stand in an expression stay in the bundle, on separate lines.
        build.onLoad({ filter: /\.js$/, namespace: 'file' }, ({ path: name }) => ({
          contents: readFileSync(name, 'utf8')
            .replaceAll(/\/\*\* @type [^*]*\*\/ ?/g, '')
            .replaceAll(/\brequire\('(\.[^']*)'\)/g, (found, required) =>
              this.#requireOf(found, path.join(path.dirname(name), required), file),
            ),
        }));
        // One `require` of Node for all modules of a file: each takes 0.1 ms.
        build.onLoad({ filter: /./, namespace: 'other file' }, ({ path: name }) => ({
          contents: `module.exports = ${modulesOf(name.slice('file of '.length))};`,
        }));
      },
    };
  }
}

/**
 * The tool uses the package: one instance of it, and of its native part, for the whole process. By
 * the name of the package it would take Node 2 ms to find.
 * @type {import('esbuild').Plugin}
 */
const USE_PACKAGE = {
  name: 'the package beside the tool',
  setup: (build) => {
    build.onResolve({ filter: /^holdfast(\/|$)/ }, ({ path: name }) => {
      const [, entry = 'index'] = name.split('/');
      return { path: `./${entry}.js`, external: true };
    });
  },
};

/**
 * @param {string} lib @param {string} dist
 * @param {Record<string, string>} programs  modules by the name of the file that is made
 */
async function writePrograms(lib, dist, programs) {
  await esbuild.build({
    ...optionsFor(lib),
    entryPoints: Object.fromEntries(
      Object.entries(programs).map(([file, module]) => [file, path.join(lib, module)]),
    ),
    external: ['@grpc/grpc-js', 'pg'],
    minify: true,
    outdir: dist,
    plugins: [PACKAGE, USE_PACKAGE],
  });
}

/** @param {string} lib @param {string} dist */
async function writePage(lib, dist) {
  const page = path.join(lib, 'cli', 'dashboard', 'page');
  const target = path.join(dist, 'dashboard');
  await esbuild.build({
    bundle: true,
    entryPoints: [path.join(page, 'page.mjs')],
    format: 'iife',
    legalComments: 'inline',
    logLevel: 'warning',
    minify: true,
    outfile: path.join(target, 'page.js'),
    platform: 'browser',
    target: ['chrome110', 'firefox115', 'safari16.4'],
  });
  for (const file of ['index.html', 'icon.svg'])
    cpSync(path.join(page, file), path.join(target, file));
}

/**
 * The files for `import`. Node takes 1 to 2 ms more to import a CommonJS file than to require it.
 * An import reads the text once more, in search of names. So `index.mjs` requires. Bundlers do not
 * follow that, and get another file, by the conditions `module` and, for ncc, `production` in
 * `exports`, which Node does not set.
 * @param {string} lib @param {string} dist
 */
function writeFacades(lib, dist) {
  const from = {
    install: 'install.mjs',
    etcd: 'etcd.mjs',
    postgres: 'postgres.mjs',
    metrics: 'metrics/index.mjs',
  };
  for (const [name, module] of Object.entries(from)) {
    const text = readFileSync(path.join(lib, module), 'utf8');
    writeFileSync(path.join(dist, `${name}.mjs`), text.replace('./index.js', `./${name}.js`));
  }
  const text = readFileSync(path.join(lib, 'index.mjs'), 'utf8');
  const requiring = [
    "import { createRequire } from 'node:module';",
    '',
    "const core = createRequire(import.meta.url)('./index.js');",
  ].join('\n');
  const importing = "import core from './imported.js';";
  const replace = (/** @type {string} */ line) =>
    text.replace("import core from './index.js';", line);
  writeFileSync(path.join(dist, 'index.mjs'), replace(requiring));
  writeFileSync(path.join(dist, 'index-for-bundlers.mjs'), replace(importing));
  // Of one line: Node searches it for names.
  writeFileSync(
    path.join(dist, 'imported.js'),
    "'use strict';\n\nmodule.exports = require('./index.js');\n",
  );
}

/**
 * The library, with its helper programs and threads.
 * @param {string} [root] of the package
 */
async function writeLibrary(root = ROOT) {
  const [lib, dist] = [path.join(root, 'lib'), path.join(root, 'dist')];
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist);
  const shared = new SharedBuild(lib, dist, await sharedFiles(lib));
  await Promise.all([shared.write(), writePrograms(lib, dist, HELPERS)]);
  cpSync(path.join(lib, 'backends', 'etcd', 'rpc.proto'), path.join(dist, 'rpc.proto'));
  writeFacades(lib, dist);
}

// The manual page holdfast(1), made from what the program itself says in --help.

/** @typedef {import('commander').Command} Command */

/** @param {string} text  as roff: what would be taken for a request or an escape is not */
const roff = (text) =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1')
    .replaceAll('…', '...')
    .replace(/[^\x20-\x7e\n]/g, (character) => `\\[u${hex(character)}]`);

/** @param {string} character */
const hex = (character) =>
  /** @type {number} */ (character.codePointAt(0)).toString(16).toUpperCase().padStart(4, '0');

/** @param {Command} command @returns {string[]} */
function commandLines(command) {
  const usage = `${command.name()} ${command.usage()}`;
  const options = command.options.filter(({ hidden }) => !hidden);
  return [
    '.SS',
    roff(usage),
    `${roff(command.description())}.`,
    ...command.registeredArguments.flatMap((argument) => [
      '.TP',
      `.I ${roff(argument.name())}`,
      roff(argument.description),
    ]),
    ...options.flatMap((option) => ['.TP', `.B ${roff(option.flags)}`, roff(describe(option))]),
  ];
}

/** @param {import('commander').Option} option */
function describe({ description, defaultValue, defaultValueDescription, argChoices }) {
  const choices = argChoices === undefined ? '' : ` (${argChoices.join(' or ')})`;
  const isText = typeof defaultValue === 'string';
  const shown = defaultValueDescription ?? (isText ? defaultValue : undefined);
  return `${description}${choices}${shown === undefined ? '' : ` (default: ${shown})`}`;
}

const ENVIRONMENT = [
  ['HOLDFAST_DIR', 'the directory of the buckets, in place of /dev/shm/holdfast-UID'],
  ['HOLDFAST_URL', 'where the locks live, as --url'],
  ['NO_COLOR', 'if set, nothing is coloured; nothing is in a pipe either'],
  ['HOLDFAST_LOCK, HOLDFAST_TOKEN', 'for a command under exec: the lock and its fencing token'],
];

const EXAMPLES = [
  ['Run a job unless it runs already', 'holdfast exec -n nightly -- ./backup.sh'],
  ['List its holder and waiters', 'holdfast ls nightly'],
  ['Draw the waits between holders', 'holdfast graph --dot | dot -Tsvg > locks.svg'],
  ['Why do two processes not share locks?', 'holdfast doctor --pid 4711'],
];

/** @returns {string} in the format of man(7) */
function manualPage() {
  const { createProgram } = require('../../lib/cli/full-program.js');
  const { MEANINGS } = require('../../lib/cli/exit-status.js');
  const { version } = require('../../package.json');
  const program = createProgram();
  const commands = program.commands.filter((command) => !(/** @type {any} */ (command)._hidden));
  const pairs = (/** @type {readonly (readonly string[])[]} */ list) =>
    list.flatMap(([term, text]) => ['.TP', `.B ${roff(term)}`, roff(text)]);
  return [
    `.TH HOLDFAST 1 "" "holdfast ${version}" "User Commands"`,
    '.SH NAME',
    'holdfast \\- see and operate locks',
    '.SH SYNOPSIS',
    '.B holdfast',
    '.I COMMAND',
    roff('[--bucket NAME] [--directory PATH] [--url URL] [OPTION...]'),
    '.SH DESCRIPTION',
    roff(program.description()),
    '.SH COMMANDS',
    ...commands.flatMap(commandLines),
    '.SH EXIT STATUS',
    ...pairs(MEANINGS),
    '.SH ENVIRONMENT',
    ...pairs(ENVIRONMENT),
    '.SH EXAMPLES',
    ...EXAMPLES.flatMap(([what, line]) => [
      '.PP',
      `${roff(what)}:`,
      '.RS',
      '.nf',
      roff(line),
      '.fi',
      '.RE',
    ]),
    '.SH SEE ALSO',
    '.BR flock (1),',
    '.BR lslocks (8)',
    '',
  ].join('\n');
}

/**
 * The program that builds the addon of an installed package, with the sources. The file binding.gyp
 * stands beside it: at the top of the package, package managers would run node-gyp at each
 * installation. A comment in the sources becomes an empty line, so that the lines in messages of a
 * compiler are the lines of the repository.
 */
function writeBuilder() {
  const folder = path.join(ROOT, 'dist', 'from-source');
  cpSync(path.join(ROOT, 'packaging', 'from-source'), folder, { recursive: true });
  cpSync(path.join(ROOT, 'binding.gyp'), path.join(folder, 'binding.gyp'));
  cpSync(path.join(ROOT, 'src'), path.join(folder, 'src'), { recursive: true });
  for (const name of readdirSync(path.join(folder, 'src'), { recursive: true, encoding: 'utf8' })) {
    if (!/\.(cc|h)$/.test(name)) continue;
    const file = path.join(folder, 'src', name);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/^ *\/\/.*$/gm, ''));
  }
}

/** The command line tool, its page and its manual page, beside the library. */
async function writeTool() {
  const [lib, dist] = [path.join(ROOT, 'lib'), path.join(ROOT, 'dist')];
  mkdirSync(path.join(dist, 'dashboard'));
  const tool = {
    cli: 'cli/holdfast.js',
    'exec-program': 'cli/exec-program.js',
    'full-program': 'cli/full-program.js',
  };
  await Promise.all([writePrograms(lib, dist, tool), writePage(lib, dist)]);
  chmodSync(path.join(dist, 'cli.js'), 0o755);
  writeFileSync(path.join(dist, 'holdfast.1'), manualPage());
  writeBuilder();
}

if (require.main === module) {
  writeLibrary()
    .then(writeTool)
    .catch((error) => {
      process.exitCode = 1;
      console.error(error);
    });
}

module.exports = { manualPage, withEagerModules, withoutIdleBytes, writeLibrary, writeTool };
