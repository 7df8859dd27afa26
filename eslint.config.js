'use strict';

const js = require('@eslint/js');
const node = require('eslint-plugin-n');
const globals = require('globals');

/** What tests put fake ones in the place of. */
const FAKED = [
  'clearInterval',
  'clearTimeout',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'setInterval',
  'setTimeout',
];
const TIME = 'Take it from lib/time.js, which has the real one also under fake timers.';

module.exports = [
  { ignores: ['build/', 'coverage/', 'dist/', 'prebuilds/', 'types/', 'test/types/'] },
  js.configs.recommended,
  {
    ...node.configs['flat/recommended-script'],
    files: ['**/*.js'],
  },
  {
    ...node.configs['flat/recommended-module'],
    files: ['**/*.mjs'],
  },
  {
    rules: {
      eqeqeq: 'error',
      'no-shadow': 'error',
      'no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrors: 'all' }],
      'no-var': 'error',
      'object-shorthand': 'error',
      'prefer-const': 'error',
      'prefer-template': 'error',
      'max-depth': ['error', 3],
      'max-len': ['error', { code: 100, ignoreUrls: true, ignoreStrings: true }],
      // A smoke alarm far out: a file is a concept, not a size.
      'max-lines': ['warn', 1000],
      'max-params': ['error', 4],
      strict: ['error', 'global'],
      // Decides from the version of an API alone, also where the code asks first whether it exists.
      'n/no-unsupported-features/node-builtins': 'off',
    },
  },
  {
    files: ['lib/**/*.js', 'scripts/**/*.js', 'packaging/from-source/*.js'],
    rules: {
      'max-lines-per-function': ['warn', { max: 120, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: ['lib/**/*.js'],
    ignores: ['lib/cli/**', 'lib/dashboard/**'],
    rules: {
      'no-restricted-globals': ['error', ...FAKED.map((name) => ({ name, message: TIME }))],
      'no-restricted-modules': ['error', { name: 'node:timers', message: TIME }],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: TIME },
        { object: 'process', property: 'hrtime', message: TIME },
      ],
    },
  },
  {
    files: ['lib/time.js'],
    rules: { 'no-restricted-modules': 'off', 'no-restricted-properties': 'off' },
  },
  {
    // Programs with an exit status of their own.
    files: ['scripts/**', 'packaging/**', 'demo/**', 'examples/**', 'bench/**', 'test/**'],
    rules: { 'n/no-process-exit': 'off', 'n/no-unpublished-require': 'off' },
  },
  {
    files: ['test/**/*.test.js'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector:
            "AssignmentExpression[left.object.object.name='process'][left.object.property.name!='env']",
          message:
            'Jest gives test files copies of `process`, but the objects in it are those of all test ' +
            'files of its worker. Do it in a thread or process of its own.',
        },
      ],
    },
  },
  {
    // Its packages are installed by `npm run bench` alone.
    files: ['bench/**'],
    rules: { 'n/no-missing-require': 'off', 'n/no-missing-import': 'off' },
  },
  {
    // What it requires is in its bundle; it is a program with an exit status of its own.
    files: ['lib/cli/**'],
    rules: {
      'n/no-unpublished-require': 'off',
      'n/no-unpublished-import': 'off',
      'n/no-process-exit': 'off',
      'n/hashbang': 'off',
    },
  },
  { files: ['packaging/from-source/main.js'], rules: { 'n/hashbang': 'off' } }, // dist/ has it as bin
  {
    // It runs in browsers; its elements are templates.
    files: ['lib/cli/dashboard/page/**'],
    languageOptions: { globals: globals.browser },
    rules: { 'max-len': 'off', 'max-lines-per-function': 'off' },
  },
  {
    // It has packages of its own, which `npm test -- dashboard` installs.
    files: ['test/dashboard/**', 'test/site/**'],
    languageOptions: { globals: globals.browser },
    rules: {
      'n/no-missing-require': 'off',
      'n/no-extraneous-require': 'off',
      'n/no-unsupported-features/es-syntax': 'off',
    },
  },
  {
    // It has packages of its own, which `npm run docs` installs.
    files: ['site/**'],
    rules: { 'n/no-missing-import': 'off', 'n/no-unpublished-import': 'off' },
  },
  {
    files: ['*.js'],
    rules: { 'n/no-unpublished-require': 'off' },
  },
  {
    files: ['test/**/*.js'],
    languageOptions: { globals: globals.jest },
  },
];
