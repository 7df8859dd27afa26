'use strict';

// The entry points of the package, which `exports` of package.json names: for each `./dist/NAME.js`
// there is a module `lib/NAME.js` or `lib/NAME/index.js`, and a `lib/NAME.mjs` or
// `lib/NAME/index.mjs` for `import`.

const { existsSync, readFileSync } = require('node:fs');
const path = require('node:path');

/**
 * @typedef {object} Entry
 * @property {string} module  its name below lib/
 * @property {(chunkOf: (module: string) => string) => { file: string, text: string }[]} files
 *   what is written below dist/ for it
 */

/**
 * @param {unknown} target  of a name in `exports`
 * @returns {string[]} the files that it leads to
 */
function filesOf(target) {
  if (typeof target === 'string') return [target];
  return Object.values(/** @type {object} */ (target)).flatMap(filesOf);
}

/** @param {string[]} lines */
const fileText = (...lines) => ["'use strict';", '', ...lines, ''].join('\n');

/**
 * `import` reads the text of a CommonJS file once more, in search of names. So it gets one of two
 * lines in place of all that `require` runs.
 */
const SHORT_INDEX = {
  file: 'imported.js',
  text: fileText("const core = require('./index.js');", 'module.exports = core;'),
};

/**
 * @param {string} lib
 * @param {string} name
 * @returns {Entry}
 */
function toEntry(lib, name) {
  const module = existsSync(path.join(lib, `${name}.js`)) ? `${name}.js` : `${name}/index.js`;
  const forImport = path.join(lib, module.replace(/\.js$/, '.mjs'));
  /** @param {string} chunk */
  const entryFile = (chunk) => ({
    file: `${name}.js`,
    text: fileText(
      "const load = require('./index.js')[Symbol.for('holdfast.load')];",
      `module.exports = load('${module}', '${chunk}');`,
    ),
  });
  return {
    module,
    files(chunkOf) {
      const required = name === 'index' ? SHORT_INDEX : entryFile(chunkOf(module));
      const text = readFileSync(forImport, 'utf8').replace("'./index.js'", `'./${required.file}'`);
      return [required, { file: `${name}.mjs`, text }];
    },
  };
}

/**
 * @param {string} root  of the package
 * @returns {Entry[]}
 */
function bundleEntries(root) {
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const names = filesOf(manifest.exports).flatMap(
    (file) => /^\.\/dist\/([\w-]+)\.js$/.exec(file)?.[1] ?? [],
  );
  return [...new Set(names)].map((name) => toEntry(path.join(root, 'lib'), name));
}

module.exports = { bundleEntries };
