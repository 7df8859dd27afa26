'use strict';

// A program for all bundlers, run in a project that has `application.mjs`: bundles it into
// `dist/index.js` (or .mjs), holdfast left out or not. Arguments: tools, bundler, `external`.

const path = require('node:path');
const { mkdirSync, renameSync } = require('node:fs');
const { createRequire } = require('node:module');
const { spawnSync } = require('node:child_process');

const [tools, bundler, how] = process.argv.slice(2);
const requireTool = createRequire(path.join(tools, 'any.js'));
const isExternal = how === 'external';
const entry = path.resolve('application.mjs');
const dist = path.resolve('dist');

/** @param {string} format */
const esbuild = (format) =>
  requireTool('esbuild').build({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    format,
    outfile: path.join(dist, format === 'esm' ? 'index.mjs' : 'index.js'),
    external: isExternal ? ['holdfast'] : [],
    logLevel: 'error',
  });

function webpack() {
  const config = {
    mode: 'production',
    target: 'node',
    entry,
    output: { path: dist, filename: 'index.js' },
    externals: isExternal ? { holdfast: 'commonjs holdfast' } : {},
  };
  return new Promise((resolve, reject) => {
    requireTool('webpack')(config, (error, stats) => {
      if (error ?? stats.hasErrors()) reject(error ?? new Error(stats.toString('errors-only')));
      else resolve(undefined);
    });
  });
}

async function rollup() {
  const bundle = await requireTool('rollup').rollup({
    input: entry,
    external: isExternal ? ['holdfast', /^node:/] : [/^node:/],
    plugins: ['node-resolve', 'commonjs', 'json'].map((name) => {
      const plugin = requireTool(`@rollup/plugin-${name}`);
      return (plugin.default ?? plugin)();
    }),
    onwarn() {},
  });
  await bundle.write({
    file: path.join(dist, 'index.mjs'),
    format: 'es',
    inlineDynamicImports: true,
  });
}

async function vite() {
  const { build } = await import(
    requireTool.resolve('vite').replace('index.cjs', 'dist/node/index.js')
  );
  await build({
    logLevel: 'error',
    build: { ssr: entry, outDir: dist, rollupOptions: { output: { entryFileNames: 'index.mjs' } } },
    ssr: isExternal ? { external: ['holdfast'] } : { noExternal: true },
  });
}

async function ncc() {
  const args = [path.join(tools, 'node_modules/@vercel/ncc/dist/ncc/cli.js'), 'build', entry];
  const external = isExternal ? ['--external', 'holdfast'] : [];
  const { status, stderr } = spawnSync(process.execPath, [...args, ...external, '--out', dist], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
}

/** Copies what the tracer finds, as Next's `standalone` does. */
async function nft() {
  const { nodeFileTrace } = requireTool('@vercel/nft');
  const { cpSync } = require('node:fs');
  const { fileList } = await nodeFileTrace([entry], { base: process.cwd() });
  for (const file of fileList) cpSync(file, path.join(dist, file), { recursive: true });
  renameSync(path.join(dist, 'application.mjs'), path.join(dist, 'index.mjs'));
}

const BUNDLERS = {
  'esbuild-cjs': () => esbuild('cjs'),
  'esbuild-esm': () => esbuild('esm'),
  webpack,
  rollup,
  vite,
  ncc,
  nft,
};

mkdirSync(dist, { recursive: true });
BUNDLERS[bundler]().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
