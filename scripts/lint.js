'use strict';

// npm run lint [js | cpp [files…]]: ESLint, and clang-tidy over src/, two files at a time, with the
// checks of .clang-tidy. Without names, clang-tidy reads the files that include the sources of src/
// (unity builds), so that each header is read once.

const { spawn } = require('node:child_process');
const path = require('node:path');
const { ensurePackages, ensureToolchain } = require('./steps/toolchain.js');
const { addonSources, writeUnityFiles } = require('../packaging/from-source/gyp.js');
const { ROOT, run } = require('./steps/run.js');

const PARALLEL = 2;
/** A unity file includes sources, and nothing else. */
const UNITY_CHECKS = '--checks=-bugprone-suspicious-include';

function flags() {
  const addonApi = path.dirname(require.resolve('node-addon-api/package.json'));
  const nodeHeaders = path.join(path.dirname(path.dirname(process.execPath)), 'include', 'node');
  const isystem = [addonApi, nodeHeaders].flatMap((folder) => [
    '-isystem',
    path.resolve(ROOT, folder),
  ]);
  const defines = ['-DNAPI_VERSION=8', '-DNODE_ADDON_API_DISABLE_CPP_EXCEPTIONS'];
  return ['--', '-std=c++20', '-Isrc', '-fno-exceptions', ...defines, ...isystem];
}

/**
 * @param {string} file
 * @returns {Promise<boolean>} Whether it is clean.
 */
function isTidy(file) {
  const checks = file.startsWith('src/') ? [] : [UNITY_CHECKS];
  const args = ['--quiet', '--warnings-as-errors=*', ...checks, file, ...flags()];
  return new Promise((resolve, reject) => {
    const child = spawn('clang-tidy', args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.resume(); // counts of suppressed warnings in system headers
    child.on('error', reject);
    child.on('close', (status) => {
      console.log(status === 0 ? `tidy ${file}` : `${file}\n${output}`);
      resolve(status === 0);
    });
  });
}

/** @param {string[]} named */
async function lintCpp(named) {
  ensureToolchain('cpp', 'tidy');
  const queue = named.length > 0 ? named : writeUnityFiles(addonSources());
  const total = queue.length;
  let untidy = 0;
  const work = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      if (!(await isTidy(file))) untidy += 1;
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  console.log(`${total - untidy} of ${total} files are tidy`);
  return untidy === 0;
}

const lintJs = () => run('npx', ['eslint', '.']) === 0;

async function main() {
  const [language, ...files] = process.argv.slice(2);
  if (language !== undefined && !['js', 'cpp'].includes(language)) {
    console.error(`unknown language "${language}"; there are js and cpp`);
    process.exitCode = 2;
    return;
  }
  ensurePackages();
  const isJsClean = language === 'cpp' || lintJs();
  const isCppClean = language === 'js' || (await lintCpp(files));
  process.exitCode = isJsClean && isCppClean ? 0 : 1;
}

main();
