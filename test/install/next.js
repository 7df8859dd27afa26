'use strict';

// The program of `npm test -- install next`: an application of Next with a route that takes a lock,
// built as `standalone` by each of Next's builders, with holdfast left in its package and without
// that line, then run far from where it was built.

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { once } = require('node:events');
const { ROOT, mustRun } = require('../../scripts/steps/run.js');
const { Sandbox } = require('./sandbox.js');

/** @typedef {{ unpacked: string }} Tarball */

const FOLDER = path.join(ROOT, 'test', 'install', 'tools', 'next');
const TOOLS = path.join(FOLDER, 'node_modules');
const BUILDERS = ['webpack', 'turbopack'];
const LINE = "serverExternalPackages: ['holdfast']";
/** Webpack does not see the addon in its bundle, so the standalone copy does not have it. */
const NEEDS_LINE = 'webpack';

/**
 * Without a lock file: npm ci wants the packages of all systems in it, of which a registry may have
 * only some.
 */
function installNext() {
  if (fs.existsSync(path.join(TOOLS, 'next', 'package.json'))) return;
  const options = ['--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
  mustRun('npm', ['install', ...options], { cwd: FOLDER });
}

const ROUTE = `
import { locks, scheduler } from 'holdfast';
export const dynamic = 'force-dynamic';
export const GET = async () =>
  Response.json({
    token: await locks.request('a', (lock) => String(lock.token)),
    task: await scheduler.postTask(() => 'task'),
  });
`;

/** @param {string} line */
const configWith = (line) => `
const root = import.meta.dirname ?? process.cwd();
export default {
  output: 'standalone',
  outputFileTracingRoot: root,
  turbopack: { root },
  ${line}
};
`;

/**
 * @param {Sandbox} sandbox
 * @param {Tarball} tarball
 * @param {string} builder
 * @param {string} line  of its configuration
 */
function buildApplication(sandbox, { unpacked }, builder, line) {
  const modules = path.join(sandbox.project, 'node_modules');
  execFileSync('cp', ['-a', TOOLS, modules]);
  fs.cpSync(unpacked, path.join(modules, 'holdfast'), { recursive: true });
  sandbox.write('app/api/lock/route.js', ROUTE);
  sandbox.write('next.config.mjs', configWith(line));
  const next = path.join(modules, 'next', 'dist', 'bin', 'next');
  sandbox.run('node', [next, 'build', `--${builder}`], {
    env: { NEXT_TELEMETRY_DISABLED: '1' },
    minutes: 30,
  });
}

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {net.AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return port;
}

/** @param {string} url @param {() => boolean} isOver @returns {Promise<any>} */
async function fetchUntilAnswered(url, isOver) {
  for (;;) {
    if (isOver()) throw new Error('the server has ended');
    try {
      const response = await fetch(url);
      return response.ok ? await response.json() : undefined;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      await sleep(200); // the server does not listen yet
    }
  }
}

/**
 * @param {Sandbox} sandbox
 * @returns {Promise<{ answer: any, output: string }>} `answer`: undefined where the route failed
 */
async function callServer(sandbox) {
  const copy = path.join(sandbox.root, 'elsewhere');
  fs.renameSync(path.join(sandbox.project, '.next', 'standalone'), copy);
  fs.rmSync(sandbox.project, { recursive: true });
  const port = await freePort();
  const server = spawn(process.execPath, ['server.js'], {
    cwd: copy,
    env: { ...sandbox.environment(), PORT: String(port), HOSTNAME: '127.0.0.1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  const ended = once(server.stderr, 'end');
  server.stderr.setEncoding('utf8').on('data', (text) => (output += text));
  /** @type {any} */
  let answer;
  try {
    const url = `http://127.0.0.1:${port}/api/lock`;
    answer = await fetchUntilAnswered(url, () => server.exitCode !== null);
  } finally {
    server.kill();
    await ended;
  }
  return { answer, output };
}

/** @param {Sandbox} sandbox @param {boolean} needsLine */
async function checkServer(sandbox, needsLine) {
  const { answer, output } = await callServer(sandbox);
  const isFine = answer?.task === 'task' && BigInt(answer.token) > 0n;
  if (isFine) return 'runs far from its packages';
  if (needsLine && output.includes('Next: serverExternalPackages')) return 'names the line';
  throw new Error(`it answers ${JSON.stringify(answer)}; it said:\n${output.slice(0, 2000)}`);
}

/** @param {Tarball} tarball */
function nextCases(tarball) {
  const lines = { 'left in its package': `${LINE},`, 'without that line': '' };
  return BUILDERS.flatMap((builder) =>
    Object.entries(lines).map(([how, line]) => ({
      name: `Next, ${builder}, ${how}`,
      async run() {
        const sandbox = new Sandbox();
        try {
          buildApplication(sandbox, tarball, builder, line);
          return await checkServer(sandbox, builder === NEEDS_LINE && line === '');
        } finally {
          sandbox.remove();
        }
      },
    })),
  );
}

module.exports = { installNext, nextCases };
