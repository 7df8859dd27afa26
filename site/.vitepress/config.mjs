// The documentation site. Its pages are collected in build/site-pages by scripts/docs.js, in their
// folders of the repository, so that links between them stay as they are.

import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

/** The first block of a language takes long, and a slow one is coloured in part only. */
async function warmUp(highlighter) {
  const tokens = (lang, theme) =>
    highlighter.codeToTokens("import { a } from 'b'; // c\nconst d = `${a}`;", {
      lang,
      theme,
      tokenizeTimeLimit: 0,
    });
  for (const lang of ['js', 'ts']) {
    for (const theme of ['github-light', 'github-dark']) tokens(lang, theme);
  }
}

const built = (name) => fileURLToPath(new URL(`../../build/${name}`, import.meta.url));
const page = (text, link) => ({ text, link });
const guide = (text, name) => page(text, `/docs/guides/${name}`);

const sidebar = [
  {
    text: 'Start',
    items: [
      page('Why holdfast', '/README'),
      page('Alternatives', '/docs/alternatives'),
      page('Getting started', '/docs/getting-started'),
      page('Names at a glance', '/docs/api'),
      page('API reference', '/api/'),
      page('Glossary', '/docs/glossary'),
    ],
  },
  {
    text: 'Guides',
    items: [
      guide('One token refresh', 'token-refresh'),
      guide('A job once per interval', 'run-every'),
      guide('One writer', 'one-writer'),
      guide('A leader', 'leader'),
      guide('At most n at a time', 'limits'),
      guide('Deadlocks', 'deadlocks'),
      guide('Stealing and fencing', 'stealing-and-fencing'),
      guide('Background work in a server', 'scheduling'),
    ],
  },
  {
    text: 'Operate',
    items: [
      page('Installing', '/docs/install'),
      page('Deploying', '/docs/deployment'),
      page('Testing', '/docs/testing'),
      page('Troubleshooting', '/docs/troubleshooting'),
      page('Errors and warnings', '/docs/errors'),
      page('Command line', '/docs/command-line'),
      page('Metrics and traces', '/docs/seeing'),
      page('Backends compared', '/docs/backends'),
      page('The broker', '/docs/broker'),
      page('Several machines: PostgreSQL', '/docs/postgres'),
      page('Several machines: etcd', '/docs/etcd'),
      page('A cluster for locks', '/docs/etcd-cluster'),
      page('How locks scale', '/docs/scaling'),
    ],
  },
  {
    text: 'Migrate',
    items: [
      page('From async-mutex', '/docs/migrating/async-mutex'),
      page('From proper-lockfile', '/docs/migrating/proper-lockfile'),
      page('From redlock', '/docs/migrating/redlock'),
      page('From navigator.locks', '/docs/migrating/navigator-locks'),
    ],
  },
  {
    text: 'Trust',
    items: [
      page('Guarantees', '/docs/guarantees'),
      page('Conformance', '/docs/conformance'),
      page('Bad days', '/docs/bad-days'),
      page('How it works', '/docs/architecture'),
      page('Shared memory', '/docs/shared-memory'),
      page('The publication list', '/docs/flat-combining'),
      page('Deadlock detection', '/docs/deadlock-detection'),
      page('Lock order', '/docs/lock-order'),
      page('The protocol of the broker', '/docs/broker-protocol'),
      page('The protocol of etcd locks', '/docs/etcd-protocol'),
      page('The cost of loading', '/docs/loading'),
      page('Decisions', '/docs/decisions/README'),
      page('Benchmarks', '/bench/RESULTS'),
      page('Changelog', '/CHANGELOG'),
    ],
  },
];

export default defineConfig({
  title: 'holdfast',
  description: 'Web Locks for Node.js, shared by event loops, worker threads and processes',
  lang: 'en',
  head: [['link', { rel: 'icon', href: `${process.env.SITE_BASE ?? '/'}icon.svg` }]],
  srcDir: built('site-pages'),
  outDir: built('site'),
  cacheDir: built('site-cache'),
  base: process.env.SITE_BASE ?? '/',
  markdown: { languages: ['js', 'ts'], shikiSetup: warmUp },
  themeConfig: {
    nav: [
      page('Guides', '/docs/getting-started'),
      page('API', '/api/'),
      page('Guarantees', '/docs/guarantees'),
      page('Benchmarks', '/bench/RESULTS'),
    ],
    sidebar: { '/': sidebar },
    outline: [2, 3],
    search: { provider: 'local' }, // an index in the site itself: nothing is asked of others
  },
});
