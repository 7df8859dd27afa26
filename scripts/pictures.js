'use strict';

// npm run pictures: makes the pictures in docs/pictures from a bucket with life in it: `top` in a
// real terminal, and the dashboard in a real browser, each light and dark. Takes a minute and a
// half, because both show the last minute.

const { spawn } = require('node:child_process');
const { mkdirSync, rmSync } = require('node:fs');
const path = require('node:path');
const { createInterface } = require('node:readline');
const { PACKAGES, openDashboard, photographTerminal } = require('./pictures/camera.js');
const { startScene } = require('./pictures/scene.js');
const { TmuxWindow } = require('./pictures/tmux.js');
const { build } = require('./steps/build.js');
const { installIn } = require('./steps/packages.js');
const { ROOT, mustRun } = require('./steps/run.js');
const { ensureToolchain } = require('./steps/toolchain.js');

/** @typedef {import('./pictures/camera.js').Scheme} Scheme */

const FOLDER = path.join(ROOT, 'docs', 'pictures');
const PROGRAM = path.join(ROOT, 'dist', 'cli.js');
const SCHEMES = /** @type {Scheme[]} */ (['light', 'dark']);
const SIZE = { columns: 124, rows: 22 };
const LAST_MINUTE_MS = 65_000;

/** @param {string} name @param {Scheme} scheme */
const fileOf = (name, scheme) => path.join(FOLDER, `${name}-${scheme}.png`);

/** @param {NodeJS.ProcessEnv} env */
async function startDashboard(env) {
  const child = spawn(process.execPath, [PROGRAM, 'dashboard', '--json'], { env, stdio: 'pipe' });
  child.stderr.pipe(process.stderr);
  const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  return { child, url: JSON.parse(value).url };
}

/** @param {string} directory  of the buckets */
async function takePictures(directory) {
  const env = { ...process.env, HOLDFAST_DIR: directory };
  const { openLockManager } = require('holdfast'); // built by now
  const locks = openLockManager({ directory });
  await locks.request('scene', () => {}); // makes the bucket, which the tools do not
  locks.close();
  const scene = startScene(directory);
  const terminal = new TmuxWindow([process.execPath, PROGRAM, 'top'], { ...SIZE, env });
  const { child, url } = await startDashboard(env);
  try {
    const dashboards = await Promise.all(SCHEMES.map((scheme) => openDashboard(url, scheme)));
    await new Promise((resolve) => setTimeout(resolve, LAST_MINUTE_MS));
    const screen = { text: terminal.lines().join('\r\n'), ...SIZE };
    for (const [at, scheme] of SCHEMES.entries()) {
      await dashboards[at](fileOf('dashboard', scheme));
      await photographTerminal(screen, scheme, fileOf('top', scheme));
    }
  } finally {
    terminal.close();
    child.kill();
    scene.end();
  }
}

/** 256 colours are enough, and a third of the bytes. */
function makeSmaller() {
  const files = ['dashboard', 'top'].flatMap((name) => SCHEMES.map((one) => fileOf(name, one)));
  mustRun('pngquant', ['--force', '--skip-if-larger', '--strip', '--ext', '.png', ...files]);
}

async function main() {
  ensureToolchain('browser', 'pictures', 'terminal');
  build();
  installIn(PACKAGES);
  mkdirSync(FOLDER, { recursive: true });
  const directory = '/dev/shm/holdfast-scene'; // is in the pictures
  mkdirSync(directory, { mode: 0o700 });
  try {
    await takePictures(directory);
    makeSmaller();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

main();
