'use strict';

// npm test -- wpt [PATH]: the web platform tests of locks, as they are. They run in the main thread
// and in a worker thread, in shared memory, over a broker and over `local:`. PATH is a copy of
// their repository, of whatever revision; without one, the revision below is fetched with git.

const { spawnSync } = require('node:child_process');
const { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { build } = require('../build.js');
const { conclude } = require('../steps/suites.js');
const { ROOT, StepError } = require('../steps/run.js');

const REPOSITORY = 'https://github.com/web-platform-tests/wpt.git';
const REVISION = '0556bbc4b2a65f5741bbf2a4071bfe3e2387689c';
/** All that the tests of locks need. */
const PARTS = ['web-locks', 'resources', 'interfaces'];
const MAX_MS = 60_000;

/** Pages that need what only a browser has. */
const NEEDS_A_BROWSER = {
  'bfcache/': 'pages that are left and come back',
  clientids: 'service workers',
  'crashtests/': 'frames',
  frames: 'frames',
  'non-fully-active': 'documents',
  'non-secure-context': 'a context that is not secure',
  'opaque-origin': 'origins',
  'partitioned-web-locks': 'origins',
  'query-ordering': 'frames',
  'release-following-termination': 'frames',
  'storage-buckets': 'navigator.storageBuckets',
  windows: 'windows',
};
/** Pages, and tests of others, that need a second thread, which `local:` does not reach. */
const NEEDS_A_THREAD = /workers|different contexts|observe a deadlock/;
/** Of an interface that Node does not have. */
const NOT_IN_NODE = /^WorkerNavigator /;

/** The directory of the lock tables of this run. */
const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-wpt-'));

/** @param {string[]} args  @param {string} cwd */
function git(args, cwd) {
  const { status, error } = spawnSync('git', args, { cwd, stdio: ['ignore', 2, 2] });
  if (status === 0) return;
  const why = error?.message ?? `it ended with ${status}`;
  throw new StepError(`'git ${args.join(' ')}' failed (${why}): pass the path of a copy instead`);
}

/** @returns {string} a folder with the tests of that revision, and nothing else of it */
function fetchTests() {
  const folder = path.join(ROOT, 'build', 'wpt', REVISION);
  if (existsSync(folder)) return folder;
  const draft = `${folder}.draft`; // what an interrupted call has left is not all of it
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  git(['init', '--quiet'], draft);
  git(['sparse-checkout', 'set', ...PARTS], draft);
  git(['fetch', '--quiet', '--depth=1', '--filter=blob:none', REPOSITORY, REVISION], draft);
  git(['checkout', '--quiet', 'FETCH_HEAD'], draft);
  renameSync(draft, folder);
  return folder;
}

/** @param {string} page */
const needsABrowser = (page) =>
  Object.keys(NEEDS_A_BROWSER).find((name) => page.startsWith(`web-locks/${name}`));

/** @param {string} folder */
function pagesOf(folder) {
  const found = path.join(folder, 'web-locks');
  if (!existsSync(found)) throw new StepError(`no tests of locks in '${folder}'`);
  return readdirSync(found, { recursive: true })
    .map((name) => `web-locks/${String(name).split(path.sep).join('/')}`)
    .filter((name) => /\.any\.js$|\.window\.js$|\.html$/.test(name))
    .filter((name) => !name.startsWith('web-locks/resources/'))
    .sort();
}

/**
 * @param {string} folder
 * @param {string} page
 * @param {{ scope: string, url: string }} where
 * @returns {[name: string, status: string, message: string | null][]}
 */
function runPage(folder, page, { scope, url }) {
  const program = path.join(ROOT, 'test', 'wpt', 'run-page.js');
  const env = { ...process.env, HOLDFAST_URL: url, HOLDFAST_DIR: directory };
  const { stdout, stderr, status, signal } = spawnSync(
    process.execPath,
    [program, folder, page, scope],
    { encoding: 'utf8', env, timeout: MAX_MS, killSignal: 'SIGKILL' },
  );
  try {
    const results = JSON.parse(stdout);
    return results.length > 0 ? results : [[page, 'failed', 'no test ran']];
  } catch {
    return [[page, 'failed', `the process ended with ${signal ?? status}: ${stderr}`]];
  }
}

/**
 * @param {string} folder
 * @param {{ scope: string, url: string }} where
 * @returns {import('../steps/suites.js').Counts}
 */
function runPages(folder, where) {
  const isLocal = where.url === 'local:';
  const failures = [];
  let passed = 0;
  let skipped = 0;
  for (const page of pagesOf(folder)) {
    if (needsABrowser(page) || (isLocal && NEEDS_A_THREAD.test(page))) continue;
    const counts = { passed: 0, skipped: 0, failed: 0 };
    for (const [name, status, message] of runPage(folder, page, where)) {
      if (status === 'passed') counts.passed += 1;
      else if (NOT_IN_NODE.test(name) || (isLocal && NEEDS_A_THREAD.test(name)))
        counts.skipped += 1;
      else failures.push(`${page}: ${name}: ${status}: ${message}`);
    }
    passed += counts.passed;
    skipped += counts.skipped;
    console.log(`${page}: ${counts.passed} passed`);
  }
  return { passed, failed: failures.length, skipped, failures };
}

const SCOPES = ['window', 'worker'];

/** @param {string[]} args */
function main([copy]) {
  try {
    build();
    const folder = path.resolve(copy ?? fetchTests());
    for (const [page, what] of Object.entries(NEEDS_A_BROWSER)) {
      console.log(`left out: ${page}: needs ${what}`);
    }
    conclude(
      ['shm:', 'broker:', 'local:'].flatMap((url) =>
        SCOPES.map((scope) => ({
          title: `web platform tests of locks, ${url} in a ${scope}`,
          run: () => runPages(folder, { scope, url }),
        })),
      ),
    );
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

module.exports = { main };
