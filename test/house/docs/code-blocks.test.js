'use strict';

// The code blocks of README and docs: `js` is run and type-checked, `ts` type-checked, and in `sh`
// every command of this project has to exist. The text behind the language says how a block is run:
// `file=NAME` (also there for the shell), `test` (node --test), `jest`, `run=NAME` (a shell, in a
// folder with the files of its page).

const { execFile } = require('node:child_process');
const { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const ts = require('typescript');
const { ROOT, codeBlocks, documents } = require('../../support/markdown.js');

// Inside the package, so that `holdfast` is found by its own name.
const FOLDER = path.join(ROOT, 'build', 'doc-blocks');

/** Languages whose blocks are not run here, and why. */
const NOT_RUN = {
  '': 'a diagram, or the text of a commit',
  console: 'the output of a program in a situation that the page describes',
  ini: 'deployment.test.js has systemd read it',
  sql: 'the examples run the same statement against SQLite',
  yaml: 'yaml.test.js checks it against the schema, deployment.test.js what it means',
};
/**
 * Commands in `sh` blocks that are not run, and why. `bash -n` reads all of them
 * (deployment.test.js).
 */
const COMMANDS_NOT_RUN = [
  [/^npm install /, 'npm test -- install does it, from a tarball: this version is in no registry'],
  [/^npx holdfast-build$/, 'npm test -- install source does it'],
  [/^npx holdfast (ls|top|doctor|exec|dashboard|watch) ?/, 'the tests of the command line'],
  [
    /^node examples\//,
    'test/examples/examples.process.test.js and test/tasks/example.test.js run them',
  ],
  [/^HOLDFAST_DIR=\$\(mktemp -d\) npm test$/, "it stands for the reader's own tests"],
  [/^HOLDFAST_URL=postgres:.* node \S+\.js/, 'it needs a server; npm test -- postgres has one'],
  [/^HOLDFAST_URL=etcd:.* node \S+\.js/, 'it needs a cluster; npm test -- etcd has one'],
];
/** The names that `ts` blocks use without an import. */
const AMBIENT = `
import { locks, runEvery } from 'holdfast';
declare function writeReport(): Promise<void>;
declare function bill(): Promise<void>;
declare function nightly(): Promise<void>;
declare function call(): Promise<string>;
`;

const pages = documents().filter((file) => file === 'README.md' || /^(docs|examples)\//.test(file));
const blocks = pages.flatMap(codeBlocks).map((block) => {
  const page = block.file.replace(/\W+/g, '-');
  const folder = path.join(FOLDER, page);
  const name = /\bfile=(\S+)/.exec(block.info)?.[1];
  const isTest = /^(test|jest)$/.test(block.info);
  const ending = block.language === 'ts' ? 'mts' : isTest ? 'test.mjs' : 'mjs';
  const target = path.join(folder, name ?? `line-${block.line}.${ending}`);
  return { ...block, folder, target, title: `${block.file}:${block.line}` };
});
const ofLanguage = (...languages) => blocks.filter(({ language }) => languages.includes(language));

let directory;
beforeAll(() => {
  directory = mkdtempSync(path.join(os.tmpdir(), 'holdfast-docs-'));
  for (const { code, folder, language, target } of ofLanguage('js', 'ts')) {
    mkdirSync(folder, { recursive: true });
    const imports = language === 'ts' && !code.includes('import ') ? AMBIENT : '';
    writeFileSync(target, `${imports}${code}`);
  }
});
afterAll(() => {
  rmSync(FOLDER, { recursive: true });
  rmSync(directory, { recursive: true });
});

/** Runs a program in the folder of a page, with separate locks. */
function runIn(folder, program, args) {
  const env = { ...process.env, HOLDFAST_DIR: mkdtempSync(path.join(directory, 'locks-')) };
  return promisify(execFile)(program, args, { cwd: folder, env });
}

test('there are blocks of each kind', () => {
  for (const language of ['js', 'ts', 'sh']) {
    expect(ofLanguage(language).length).toBeGreaterThan(3);
  }
});

test('every block is in a language that this test knows', () => {
  const known = ['js', 'ts', 'sh', ...Object.keys(NOT_RUN)];
  expect(blocks.filter(({ language }) => !known.includes(language))).toEqual([]);
});

test('every js block is a separate module that imports holdfast by its name', () => {
  const relative = ofLanguage('js').filter(({ code }) => /(from|import) '\.|require\(/.test(code));
  expect(relative.map(({ title }) => title)).toEqual([]);
});

const programs = ofLanguage('js').filter(({ info }) => !/^(test|jest)$/.test(info));
test.each(programs)('$title runs to its end and complains of nothing', async (block) => {
  const { stderr } = await runIn(block.folder, process.execPath, [block.target]);
  expect(stderr).toBe('');
});

const testBlocks = ofLanguage('js').filter(({ info }) => info === 'test');
test.each(testBlocks)('$title passes under node --test', async ({ folder, target }) => {
  const { stdout } = await runIn(folder, process.execPath, ['--test', target]);
  expect(stdout).toMatch(/^(#|ℹ) pass 1$/m);
});

const jestBlocks = ofLanguage('js').filter(({ info }) => info === 'jest');
test.each(jestBlocks)('$title passes under Jest', async ({ folder, target }) => {
  const jest = path.join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js');
  const config = JSON.stringify({
    ...{ rootDir: folder, testMatch: ['**/*.test.mjs'], transform: {}, testTimeout: 600_000 },
  });
  const args = ['--experimental-vm-modules', jest, '--config', config, '--runTestsByPath', target];
  const { stderr } = await runIn(folder, process.execPath, args);
  expect(stderr).toMatch(/^Tests: +1 passed, 1 total$/m);
});

const scripts = ofLanguage('sh').filter(({ info }) => info.startsWith('run='));
test.each(scripts)('$title does in a shell what its page says', async ({ code, folder }) => {
  const { stdout } = await runIn(folder, 'bash', ['-euc', code]);
  expect(stdout).toMatch(/10$/);
});

/** The commands of a block, without comments. */
const commandsOf = ({ code }) =>
  code
    .split('\n')
    .map((line) => line.replace(/\s+#.*/, '').trim())
    .filter((line) => line !== '');

test('every command in a shell block is run, or it is said why not', () => {
  const left = ofLanguage('sh').filter(({ info }) => !info.startsWith('run='));
  const commands = left.flatMap(commandsOf);
  const without = commands.filter((line) => !COMMANDS_NOT_RUN.some(([known]) => known.test(line)));
  expect(without).toEqual([]);
  const unused = COMMANDS_NOT_RUN.filter(([known]) => !commands.some((line) => known.test(line)));
  expect(unused).toEqual([]);
});

test('all blocks agree with the declarations', () => {
  const { config } = ts.readConfigFile(path.join(ROOT, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, ROOT);
  const files = ofLanguage('js', 'ts').map(({ target }) => target);
  const program = ts.createProgram(files, { ...options, noUnusedLocals: false });
  const messages = ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
    const name = file === undefined ? '' : path.relative(FOLDER, file.fileName);
    return `${name}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
  expect(messages).toEqual([]);
});

test('every command of this project in a shell block exists', () => {
  const manifest = require('../../../package.json');
  const commands = require('node:fs').readdirSync(path.join(ROOT, 'lib', 'cli'));
  const faults = ofLanguage('sh').flatMap(({ title, code }) => {
    const wrong = [];
    for (const [, name] of code.matchAll(/npx holdfast (\w[\w-]*)/g)) {
      if (!commands.includes(`${name}.js`)) wrong.push(`npx holdfast ${name}`);
    }
    for (const [, name] of code.matchAll(/npm run (?:--silent )?([\w:]+)/g)) {
      if (!(name in manifest.scripts)) wrong.push(`npm run ${name}`);
    }
    for (const [, name] of code.matchAll(/node ((?:examples|bench|scripts|lib)\/\S+)/g)) {
      if (!existsSync(path.join(ROOT, name))) wrong.push(`node ${name}`);
    }
    return wrong.map((command) => `${title}: ${command}`);
  });
  expect(faults).toEqual([]);
});
