'use strict';

// The program of `npm test -- install types`: the declarations under each version of TypeScript and
// each way to resolve modules, with nothing skipped, and the two linters of packages.

const fs = require('node:fs');
const path = require('node:path');
const { execFileSync } = require('node:child_process');
const { ROOT } = require('../../scripts/steps/run.js');
const { Sandbox } = require('./sandbox.js');

const TOOLS = path.join(ROOT, 'test', 'install', 'tools', 'types', 'node_modules');
const VERSIONS = ['5.2', '5.6', '5.9', '6.0', '7.0'];

/** By name; `type` belongs to the importing package. */
const RESOLUTIONS = {
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext', type: 'module' },
  'nodenext, CommonJS': { module: 'nodenext', moduleResolution: 'nodenext', type: 'commonjs' },
  node16: { module: 'node16', moduleResolution: 'node16', type: 'module' },
  bundler: { module: 'esnext', moduleResolution: 'bundler', type: 'module' },
  node10: { module: 'commonjs', moduleResolution: 'node10', type: 'commonjs' },
};
const LIBRARIES = { 'no dom': [], dom: ['dom', 'dom.iterable'] };
const TARGETS = ['es2020', 'es2022', 'esnext'];

/** Versions of Node's declarations beside the default, 20. */
const NODE_TYPES = ['22', '24', '26'];
/** From 24 on it does not fit the `dom` of TypeScript 5.9: TS2502 over its own URLPattern. */
const NODE_TYPES_UNDER = { 5.9: ['no dom'], '7.0': ['no dom', 'dom'] };

const FILES = ['consumer.ts', 'install-consumer.ts', 'parts-consumer.ts'];

/** TypeScript 7 has left it out. */
const isPossible = (/** @type {string} */ version, /** @type {string} */ resolution) =>
  !(version === '7.0' && resolution === 'node10');

/** @param {{ unpacked: string }} tarball @param {string} [nodeTypes]  folder of @types/node */
function makeProject({ unpacked }, nodeTypes = '@types/node') {
  const sandbox = new Sandbox();
  const modules = path.join(sandbox.project, 'node_modules');
  fs.mkdirSync(modules, { recursive: true });
  fs.cpSync(unpacked, path.join(modules, 'holdfast'), { recursive: true });
  const copies = { 'undici-types': 'undici-types', [nodeTypes]: '@types/node' };
  for (const [from, to] of Object.entries(copies)) {
    fs.cpSync(path.join(TOOLS, from), path.join(modules, to), { recursive: true });
  }
  for (const file of FILES) {
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
  sandbox.write('tsconfig.json', JSON.stringify({ compilerOptions, files: FILES }));
  const tsc = path.join(TOOLS, `typescript-${version}`, 'bin', 'tsc');
  sandbox.run('node', [tsc, '--project', 'tsconfig.json', '--pretty', 'false']);
}

/**
 * @param {string} version
 * @param {string[]} libraries
 * @param {string[]} targets
 */
const projectsOf = (version, libraries, targets) =>
  Object.entries(RESOLUTIONS)
    .filter(([resolution]) => isPossible(version, resolution))
    .flatMap(([resolution, { type, ...modules }]) =>
      Object.entries(LIBRARIES)
        .filter(([library]) => libraries.includes(library))
        .flatMap(([library, names]) =>
          targets.map((target) => ({
            name: `${resolution}, ${library}, ${target}`,
            type,
            options: { ...modules, target, lib: [target, ...names] },
          })),
        ),
    );

/**
 * @param {Sandbox} sandbox
 * @param {string} version
 * @param {ReturnType<typeof projectsOf>} projects
 */
function compileAll(sandbox, version, projects) {
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

/**
 * @param {string} name
 * @param {() => Sandbox} make
 * @param {(sandbox: Sandbox) => string} check
 */
const sandboxCase = (name, make, check) => ({
  name,
  run() {
    const sandbox = make();
    try {
      return check(sandbox);
    } finally {
      sandbox.remove();
    }
  },
});

/** @param {{ file: string, unpacked: string }} tarball */
function typeCases(tarball) {
  const versions = VERSIONS.map((version) =>
    sandboxCase(
      `TypeScript ${version}`,
      () => makeProject(tarball),
      (sandbox) =>
        compileAll(sandbox, version, projectsOf(version, Object.keys(LIBRARIES), TARGETS)),
    ),
  );
  const nodeTypes = NODE_TYPES.flatMap((major) =>
    Object.entries(NODE_TYPES_UNDER).map(([version, libraries]) =>
      sandboxCase(
        `@types/node ${major}, TypeScript ${version}`,
        () => makeProject(tarball, `types-node-${major}`),
        (sandbox) => compileAll(sandbox, version, projectsOf(version, libraries, ['es2022'])),
      ),
    ),
  );
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
    ...nodeTypes,
  ];
}

module.exports = { typeCases };
