'use strict';

// What `npm run test:install -- types` does: the declarations under each version of TypeScript and
// each way to resolve modules, with nothing skipped, and the two linters of packages.

const fs = require('node:fs');
const path = require('node:path');
const { execFileSync } = require('node:child_process');
const { ROOT } = require('../../scripts/steps/run.js');
const { Sandbox } = require('./sandbox.js');

const TOOLS = path.join(ROOT, 'packaging', 'types', 'node_modules');
const VERSIONS = ['5.2', '5.6', '5.9', '6.0', '7.0'];

/** By name; `type` is that of the package that imports. */
const RESOLUTIONS = {
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext', type: 'module' },
  'nodenext, CommonJS': { module: 'nodenext', moduleResolution: 'nodenext', type: 'commonjs' },
  node16: { module: 'node16', moduleResolution: 'node16', type: 'module' },
  bundler: { module: 'esnext', moduleResolution: 'bundler', type: 'module' },
  node10: { module: 'commonjs', moduleResolution: 'node10', type: 'commonjs' },
};
const LIBRARIES = { 'no dom': [], dom: ['dom', 'dom.iterable'] };
const TARGETS = ['es2020', 'es2022'];

/** TypeScript 7 has left it out. */
const isPossible = (/** @type {string} */ version, /** @type {string} */ resolution) =>
  !(version === '7.0' && resolution === 'node10');

/** @param {{ unpacked: string }} tarball */
function makeProject({ unpacked }) {
  const sandbox = new Sandbox();
  const modules = path.join(sandbox.project, 'node_modules');
  fs.mkdirSync(modules, { recursive: true });
  fs.cpSync(unpacked, path.join(modules, 'holdfast'), { recursive: true });
  for (const types of ['@types/node', 'undici-types']) {
    fs.cpSync(path.join(TOOLS, types), path.join(modules, types), { recursive: true });
  }
  for (const file of ['consumer.ts', 'install-consumer.ts']) {
    sandbox.write(file, fs.readFileSync(path.join(__dirname, file), 'utf8'));
  }
  return sandbox;
}

/**
 * @param {Sandbox} sandbox
 * @param {string} version
 * @param {object} options  of the compiler
 */
function compile(sandbox, version, options) {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    exactOptionalPropertyTypes: true,
    types: ['node'],
    ...(version === '6.0' ? { ignoreDeprecations: '6.0' } : {}),
    ...options,
  };
  const files = ['consumer.ts', 'install-consumer.ts'];
  sandbox.write('tsconfig.json', JSON.stringify({ compilerOptions, files }));
  const tsc = path.join(TOOLS, `typescript-${version}`, 'bin', 'tsc');
  sandbox.run('node', [tsc, '--project', 'tsconfig.json', '--pretty', 'false']);
}

/** @param {string} version */
const projectsOf = (version) =>
  Object.entries(RESOLUTIONS)
    .filter(([resolution]) => isPossible(version, resolution))
    .flatMap(([resolution, { type, ...modules }]) =>
      Object.entries(LIBRARIES).flatMap(([library, names]) =>
        TARGETS.map((target) => ({
          name: `${resolution}, ${library}, ${target}`,
          type,
          options: { ...modules, target, lib: [target, ...names] },
        })),
      ),
    );

/** @param {Sandbox} sandbox @param {string} version */
function compileAll(sandbox, version) {
  const projects = projectsOf(version);
  const failures = projects.flatMap(({ name, type, options }) => {
    sandbox.write('package.json', JSON.stringify({ name: 'application', type }));
    try {
      compile(sandbox, version, options);
      return [];
    } catch (error) {
      return [`${name}: ${/** @type {Error} */ (error).message}`];
    }
  });
  if (failures.length > 0) throw new Error(failures.join('\n'));
  return `${projects.length} projects`;
}

/** @param {string} program @param {string[]} args */
const runTool = (program, ...args) =>
  execFileSync(process.execPath, [path.join(TOOLS, program), ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });

/** @param {{ file: string, unpacked: string }} tarball */
function typeCases(tarball) {
  const versions = VERSIONS.map((version) => ({
    name: `TypeScript ${version}`,
    run() {
      const sandbox = makeProject(tarball);
      try {
        return compileAll(sandbox, version);
      } finally {
        sandbox.remove();
      }
    },
  }));
  return [
    {
      name: 'attw',
      run() {
        runTool('@arethetypeswrong/cli/dist/index.js', tarball.file, '--no-emoji', '--no-color');
        return 'no problems';
      },
    },
    {
      name: 'publint',
      run() {
        runTool('publint/src/cli.js', tarball.unpacked, '--strict');
        return 'no problems';
      },
    },
    ...versions,
  ];
}

module.exports = { typeCases };
