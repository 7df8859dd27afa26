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
 * `import` of a CommonJS file takes Node 1 to 2 ms more than a require of it: it reads the text
 * once more, in search of names. So `index.mjs` requires, and bundlers, which do not follow that,
 * get another file, which imports one of two lines: by the conditions `module` and, for ncc,
 * `production` in `exports`, which Node does not set.
 */
const MODULE_FOR_BUNDLERS = 'index-for-bundlers.mjs';
const SHORT_INDEX = {
  file: 'imported.js',
  text: fileText("const core = require('./index.js');", 'module.exports = core;'),
};
const THE_IMPORT = "import core from './index.js';";
const THE_REQUIRE = [
  "import { createRequire } from 'node:module';",
  '',
  'const require = createRequire(import.meta.url);',
  "const core = require('./index.js');",
].join('\n');

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
      const text = readFileSync(forImport, 'utf8');
      const importing = (/** @type {string} */ file) =>
        text.replace(THE_IMPORT, `import core from './${file}';`);
      if (name !== 'index') {
        const required = entryFile(chunkOf(module));
        return [required, { file: `${name}.mjs`, text: importing(required.file) }];
      }
      return [
        SHORT_INDEX,
        { file: MODULE_FOR_BUNDLERS, text: importing(SHORT_INDEX.file) },
        { file: 'index.mjs', text: text.replace(THE_IMPORT, THE_REQUIRE) },
      ];
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
