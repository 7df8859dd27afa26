'use strict';

// npm run pictures: makes the pictures in docs/pictures from a bucket with life in it: `top` in a
// real terminal, and the dashboard in a real browser, each light and dark. Takes a minute and a
// half, because both show the last minute.

const { mkdirSync, readFileSync, rmSync } = require('node:fs');
const { createRequire } = require('node:module');
const path = require('node:path');
const { execFileSync, spawn, spawnSync } = require('node:child_process');
const { mustRun, ROOT } = require('./steps/run.js');
const { createInterface } = require('node:readline');
const { build } = require('./build.js');
const { installIn, ensureToolchain } = require('./steps/toolchain.js');

/** The folder with the packages that need a browser. */
const PACKAGES = path.join(ROOT, 'test', 'dashboard');
const requirePackage = createRequire(path.join(PACKAGES, 'package.json'));

/** @typedef {'light' | 'dark'} Scheme */

/** Colours of the dashboard, for the terminal beside it. */
const THEMES = {
  light: {
    background: '#ffffff',
    foreground: '#1b2330',
    red: '#c0192d',
    green: '#1a7f46',
    yellow: '#a35a00',
  },
  dark: {
    background: '#181e28',
    foreground: '#e6eaf1',
    red: '#ff8b94',
    green: '#5bd08c',
    yellow: '#f0aa4d',
  },
};

/** A terminal in the page: xterm.js draws what it is given. Runs in the browser. */
const SHOW_TERMINAL = `async ({ text, columns, rows, theme }) => {
  const box = { margin: 0, display: 'inline-block', padding: '14px' };
  Object.assign(document.body.style, box, { background: theme.background });
  const look = { fontFamily: '"DejaVu Sans Mono", monospace', fontSize: 14, theme };
  const terminal = new Terminal({ ...look, cols: columns, rows, cursorInactiveStyle: 'none' });
  terminal.open(document.body);
  await new Promise((resolve) => terminal.write(text, resolve));
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  await frame();
}`;

/**
 * @param {{ text: string, columns: number, rows: number }} screen  text: lines with the escape
 *   sequences of their colours
 * @param {Scheme} scheme
 * @param {string} file
 */
async function photographTerminal(screen, scheme, file) {
  const { launch } = require(path.join(PACKAGES, 'browser.js'));
  const browser = await launch();
  const page = await browser.newPage({ viewport: { width: 1600, height: 1200 } });
  const xterm = path.dirname(requirePackage.resolve('@xterm/xterm/package.json'));
  await page.addStyleTag({ content: readFileSync(path.join(xterm, 'css/xterm.css'), 'utf8') });
  await page.addScriptTag({ content: readFileSync(path.join(xterm, 'lib/xterm.js'), 'utf8') });
  await page.evaluate(
    `(${SHOW_TERMINAL})(${JSON.stringify({ ...screen, theme: THEMES[scheme] })})`,
  );
  await page.locator('body').screenshot({ path: file });
  await browser.close();
}

/**
 * Opens the dashboard; it remembers what happens from then on.
 * @param {string} url
 * @param {Scheme} scheme
 * @returns {Promise<(file: string) => Promise<void>>}  takes the picture
 */
async function openDashboard(url, scheme) {
  const { openPage } = require(path.join(PACKAGES, 'browser.js'));
  const viewport = { width: 1180, height: 900 };
  const { browser, page } = await openPage(url, { colorScheme: scheme, viewport });
  return async (file) => {
    await page.screenshot({ path: file, fullPage: true });
    await browser.close();
  };
}

// A bucket with life in it, from real processes: what the pictures in the documentation show.

const ROLES = [
  ...['report', 'report', 'report', 'debit', 'credit', 'import', 'thumbnails', 'cache'],
  ...['work', 'work', 'work', 'work', 'crash'],
];
/** The others queue behind it. */
const FIRST = 'backup';
const HEAD_START_MS = 1_000;

/**
 * @param {string} directory  of the buckets
 * @returns {{ end: () => void }}
 */
function startScene(directory) {
  let isOver = false;
  /** @type {Set<import('node:child_process').ChildProcess>} */
  const children = new Set();
  // Command lines are shown: a name without a folder looks the same on all machines.
  const env = { ...process.env, HOLDFAST_DIR: directory, NODE_NO_WARNINGS: '1' };
  const options = /** @type {const} */ ({
    argv0: 'node',
    cwd: path.join(__dirname, 'pictures'),
    env,
    stdio: 'ignore',
  });
  const start = (/** @type {string} */ role) => {
    if (isOver) return;
    const child = spawn(process.execPath, ['scene-worker.js', role], options);
    children.add(child);
    child.on('exit', () => {
      children.delete(child);
      if (role === 'crash') start(role);
    });
  };
  start(FIRST);
  setTimeout(() => ROLES.forEach(start), HEAD_START_MS);
  const end = () => {
    isOver = true;
    for (const child of children) child.kill('SIGKILL');
  };
  return { end };
}

/** @param {string} word */
const quote = (word) => `'${word.replaceAll("'", "'\\''")}'`;

/** A program in a real terminal: a window of tmux that is not attached to a screen. */
class TmuxWindow {
  #socket = `holdfast-pictures-${process.pid}`;

  /**
   * @param {string[]} command
   * @param {{ columns: number, rows: number, env: NodeJS.ProcessEnv }} options
   */
  constructor(command, { columns, rows, env }) {
    const size = ['-x', String(columns), '-y', String(rows)];
    const session = ['-f', '/dev/null', 'new-session', '-d', '-s', 'picture', ...size];
    const terminalEnv = { ...env, LC_ALL: 'C.UTF-8', TERM: 'xterm-256color' };
    this.#tmux([...session, command.map(quote).join(' ')], terminalEnv);
  }

  /** @param {string[]} args @param {NodeJS.ProcessEnv} [env] */
  #tmux(args, env = process.env) {
    return execFileSync('tmux', ['-L', this.#socket, '-u', ...args], { encoding: 'utf8', env });
  }

  /** The text of the window, line by line, with the escape sequences of its colours. */
  lines() {
    return this.#tmux(['capture-pane', '-e', '-N', '-p', '-t', 'picture']).split('\n').slice(0, -1);
  }

  close() {
    spawnSync('tmux', ['-L', this.#socket, 'kill-server']);
  }
}

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
