'use strict';

// npm run pictures: makes the pictures in docs/pictures from a bucket with life in it. They show
// the text of `top` in a real terminal, and the dashboard in a real browser, each light and dark.
// Takes a minute and a half, because both show the last minute.

const { mkdirSync, rmSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { execFileSync, spawn, spawnSync } = require('node:child_process');
const { mustRun, ROOT } = require('./steps/run.js');
const { createInterface } = require('node:readline');
const { build } = require('./build.js');
const { installIn, ensureToolchain } = require('./steps/toolchain.js');

/** The folder with the packages that need a browser. */
const PACKAGES = path.join(ROOT, 'test', 'dashboard');

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

/** The styles that SGR sets (ECMA-48, 8.3.117), as classes. */
const COLOURS = { 31: 'red', 32: 'green', 33: 'yellow' };
/** @type {Record<number, string>} */
const STYLES = { 1: 'bold', 2: 'dim', 7: 'inverse', ...COLOURS };
const CELL = { width: 8.4, height: 17 };
const BASELINE = 13;
const MARGIN = 14;

/** @param {string} text */
const escaped = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/**
 * @param {Set<string>} style  changed
 * @param {string} codes  of an escape sequence
 */
function applyCodes(style, codes) {
  for (const code of codes.split(';').map(Number)) {
    if (code === 0) style.clear();
    else if (code === 39) for (const colour of Object.values(COLOURS)) style.delete(colour);
    else if (code in STYLES) style.add(STYLES[code]);
  }
}

/**
 * @param {string} text
 * @param {Set<string>} style
 * @param {number} column
 * @param {number} y
 */
function drawText(text, style, column, y) {
  const x = (/** @type {number} */ at) => (MARGIN + at * CELL.width).toFixed(1);
  const width = (/** @type {string} */ of) => ([...of].length * CELL.width).toFixed(1);
  const box = `x="${x(column)}" y="${y}" width="${width(text)}" height="${CELL.height}"`;
  const behind = style.has('inverse') ? `<rect class="bar" ${box}/>` : '';
  const word = text.trim();
  if (word === '') return behind;
  const start = column + text.length - text.trimStart().length;
  const name = style.size === 0 ? '' : ` class="${[...style].join(' ')}"`;
  const attributes = `x="${x(start)}" y="${y + BASELINE}" textLength="${width(word)}"`;
  return `${behind}<text${name} ${attributes}>${escaped(word)}</text>`;
}

/**
 * @param {string} line  with the escape sequences of its colours
 * @param {number} row
 */
function drawLine(line, row) {
  /** @type {Set<string>} */
  const style = new Set();
  let column = 0;
  return line
    .split('\u001b[')
    .map((part, at) => {
      const end = at === 0 ? -1 : part.indexOf('m');
      if (end >= 0) applyCodes(style, part.slice(0, end));
      const text = part.slice(end + 1);
      const drawn = drawText(text, style, column, MARGIN + row * CELL.height);
      column += [...text].length;
      return drawn;
    })
    .join('');
}

/**
 * A terminal as a picture for light and for dark pages.
 * @param {string[]} lines
 * @param {number} columns
 */
function drawTerminal(lines, columns) {
  const width = Math.ceil(2 * MARGIN + columns * CELL.width);
  const height = 2 * MARGIN + lines.length * CELL.height;
  const rules = (/** @type {Record<string, string>} */ { background, foreground, ...colours }) =>
    [
      `svg{background:${background};fill:${foreground}}`,
      `.bar{fill:${foreground}}.inverse{fill:${background}}`,
      ...Object.entries(colours).map(([name, colour]) => `.${name}{fill:${colour}}`),
    ].join('');
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}">`,
    '<style>',
    'text{font:14px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;white-space:pre}',
    `.bold{font-weight:700}.dim{opacity:.6}${rules(THEMES.light)}`,
    `@media(prefers-color-scheme:dark){${rules(THEMES.dark)}}`,
    '</style>',
    ...lines.map(drawLine),
    '</svg>\n',
  ].join('\n');
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

/** @param {Scheme} scheme */
const fileOf = (scheme) => path.join(FOLDER, `dashboard-${scheme}.png`);

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
    writeFileSync(path.join(FOLDER, 'top.svg'), drawTerminal(terminal.lines(), SIZE.columns));
    for (const [at, scheme] of SCHEMES.entries()) await dashboards[at](fileOf(scheme));
  } finally {
    terminal.close();
    child.kill();
    scene.end();
  }
}

/** 256 colours are enough, and a third of the bytes. */
function makeSmaller() {
  const files = SCHEMES.map(fileOf);
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
