'use strict';

// npm run release: whether what is here can be published. Run after `npm run prebuilds`.
// Ends with `N passed, N failed`.

const { existsSync, readFileSync, statSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { execFileSync } = require('node:child_process');
const { bundle } = require('./build.js');
const { ONE_PASSED, conclude } = require('./steps/suites.js');
const { checkBinary, GLIBC, TARGETS } = require('./prebuilds.js');
const { ROOT, StepError, mustRun } = require('./steps/run.js');

/** Not binding.gyp: package managers would run node-gyp at each installation. */
const DELIVERED = [
  /^(dist|types)\/(?!.*\/node_modules\/)/,
  /^prebuilds\/[\w-]+\/holdfast\.node$/,
  /^docs\/pictures\/[\w-]+\.svg$/,
  /^(README|CHANGELOG)\.md$/,
  /^(LICENSE|package\.json)$/,
];

/** @param {string[]} names  of the files in the tarball */
const forbiddenFiles = (names) =>
  names.filter((name) => !DELIVERED.some((pattern) => pattern.test(name)));

/** Texts for a user: not the sources, whose comments are for a reader of the repository. */
const HAS_TEXT = /^(types\/.*|dist\/.*(\.(js|mjs|html|proto|gyp)|\.1))$/;
const PAGE = /(?<![\w./-])(?:docs|bench|examples|demo|site)\/[\w./-]+|[\w./-]+\.md\b/g;

/**
 * The pages that a text of the package names, and the pictures of the README, without a file in the
 * tarball.
 * @param {string} root
 * @param {string[]} names  of the files in the tarball
 */
function missingFiles(root, names) {
  const read = (/** @type {string} */ name) => readFileSync(path.join(root, name), 'utf8');
  const named = names
    .filter((name) => HAS_TEXT.test(name))
    .flatMap((name) => (read(name).match(PAGE) ?? []).map((page) => ({ page, name })));
  const pictures = [...read('README.md').matchAll(/(?:!\[[^\]]*\]\(|src(?:set)?=")([^)"]+)/g)].map(
    ([, page]) => ({ page, name: 'README.md' }),
  );
  return [...named, ...pictures]
    .filter(({ page }) => !names.includes(page))
    .map(({ page, name }) => `${page} (in ${name})`);
}

const MAX_PACKED_BYTES = 1_400_000;
const SBOM = path.join(ROOT, 'build', 'holdfast.sbom.json');

/** @param {string} program @param {string[]} args */
const output = (program, ...args) =>
  execFileSync(program, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 26 });

const manifest = () => JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));

/** @type {{ files: { path: string }[], size: number } | undefined} */
let packed;
function packedPackage() {
  const all = JSON.parse(output('npm', 'pack', '--dry-run', '--json', '--ignore-scripts'));
  packed ??= Array.isArray(all) ? all[0] : Object.values(all)[0];
  return /** @type {NonNullable<typeof packed>} */ (packed);
}

/** @param {boolean} isFault @param {string} message */
function refuse(isFault, message) {
  if (isFault) throw new StepError(message);
}

/** @param {string} title @param {() => void} check  throws what is wrong */
const step = (title, check) => ({
  title,
  run() {
    check();
    return ONE_PASSED;
  },
});

function checkVersions() {
  const { version } = manifest();
  const lock = JSON.parse(readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8'));
  refuse(lock.version !== version, `package-lock.json says ${lock.version}, not ${version}`);
  const changelog = readFileSync(path.join(ROOT, 'CHANGELOG.md'), 'utf8');
  refuse(!changelog.includes(`## ${version}`), `CHANGELOG.md has no "## ${version}"`);
}

function checkBinaries() {
  for (const target of TARGETS) {
    const file = path.join(ROOT, 'prebuilds', target.name, 'holdfast.node');
    refuse(!existsSync(file), `${target.name} is missing: npm run prebuilds`);
    const { bytes, glibc } = checkBinary(file, target, GLIBC);
    console.log(`${target.name}: ${bytes} bytes, ${target.isGlibc ? `glibc ${glibc}` : 'musl'}`);
    const newest = output('git', 'log', '-1', '--format=%ct', '--', 'src');
    refuse(statSync(file).mtimeMs / 1000 < Number(newest), `${target.name} is older than src/`);
  }
}

function checkContent() {
  const { files, size } = packedPackage();
  const names = files.map((file) => file.path);
  const forbidden = forbiddenFiles(names);
  refuse(forbidden.length > 0, `the tarball has ${forbidden.join(', ')}`);
  refuse(size > MAX_PACKED_BYTES, `the tarball has ${size} bytes, more than ${MAX_PACKED_BYTES}`);
  const missing = missingFiles(ROOT, names);
  refuse(missing.length > 0, `named, and not in the tarball: ${missing.join(', ')}`);
  console.log(`${names.length} files, ${size} bytes packed`);
}

function checkManifest() {
  const { dependencies = {}, scripts, license, repository } = manifest();
  refuse(!repository, 'package.json has no "repository", which the links of the README lead into');
  refuse(Object.keys(dependencies).length > 0, 'the package has run-time dependencies');
  const runAtInstall = ['preinstall', 'install', 'postinstall'].filter((name) => name in scripts);
  refuse(runAtInstall.length > 0, `scripts run at installation: ${runAtInstall.join(', ')}`);
  refuse(license !== 'MIT' || !existsSync(path.join(ROOT, 'LICENSE')), 'the licence is missing');
}

function writeSbom() {
  const text = output('npm', 'sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev');
  const { components = [] } = JSON.parse(text);
  writeFileSync(SBOM, text);
  console.log(`${path.relative(ROOT, SBOM)}: ${components.length} components beside the package`);
}

if (require.main === module) {
  conclude([
    step('A clean tree', () => {
      const changes = output('git', 'status', '--porcelain');
      refuse(changes !== '', `there are changes:\n${changes}`);
    }),
    step('Versions', checkVersions),
    step('Binaries', checkBinaries),
    step('dist/', bundle),
    step('Content', checkContent),
    step('Dependencies, licence, repository', checkManifest),
    step('SBOM', writeSbom),
    step('attw and publint', () => {
      const test = path.join(__dirname, 'test.js');
      for (const linter of ['attw', 'publint']) {
        mustRun(process.execPath, [test, 'install', 'types', '--only', linter]);
      }
    }),
  ]);
}

module.exports = { forbiddenFiles, missingFiles, packedPackage };
