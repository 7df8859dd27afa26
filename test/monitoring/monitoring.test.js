'use strict';

const { spawnSync } = require('node:child_process');
const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { LockMetrics } = require('../../lib/metrics/index.js');
const { ProcessBucket, untilEqual } = require('../support/process-bucket.js');

// Files for Prometheus and Grafana, read by the tools of Prometheus and Grafana.

const PROMTOOL = process.env.PROMTOOL ?? 'promtool';
const TSC = path.join(__dirname, '../../node_modules/typescript/bin/tsc');
const EXAMPLES = path.join(__dirname, '../../examples/metrics');

/** @returns {{ status: number, text: string }} */
function promtool(args, input = '') {
  const options = { cwd: __dirname, encoding: 'utf8', input };
  const { status, stdout, stderr, error } = spawnSync(PROMTOOL, args, options);
  if (error) throw error;
  return { status, text: stdout + stderr };
}

const dashboard = () => readFileSync(path.join(EXAMPLES, 'grafana-dashboard.json'), 'utf8');

let folder;
beforeEach(() => {
  folder = mkdtempSync(path.join(__dirname, 'files-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** @param {string} name @param {string} text */
function write(name, text) {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return file;
}

describe('promtool', () => {
  test('accepts the page of figures, and its names', async () => {
    const bucket = new ProcessBucket();
    const metrics = new LockMetrics({ manager: bucket.locks, names: true });
    await metrics.collect();
    await bucket.locks.request('a "name"\nwith \\ and \ud800', () => {});
    await untilEqual(async () => (await metrics.collect()).grants, 1);
    const page = await metrics.toPrometheus();
    expect(page).toMatch(/^holdfast_grants_total\{/m);
    expect(promtool(['check', 'metrics'], page)).toEqual({ status: 0, text: '' });
    metrics.close();
    await bucket.close();
  });

  test('accepts the alerting rules', () => {
    const { status, text } = promtool(['check', 'rules', path.join(EXAMPLES, 'alerts.yml')]);
    expect(text).toMatch(/SUCCESS: 6 rules found/);
    expect(status).toBe(0);
  });

  test('finds that each alert fires when it should, and not before', () => {
    const { status, text } = promtool(['test', 'rules', 'alerts.test.yml']);
    expect(text).toMatch(/SUCCESS/);
    expect(status).toBe(0);
    const alerts = readFileSync(path.join(EXAMPLES, 'alerts.yml'), 'utf8');
    const names = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    const tests = readFileSync(path.join(__dirname, 'alerts.test.yml'), 'utf8');
    expect(names.filter((name) => !tests.includes(`alertname: ${name}`))).toEqual([]);
  });

  test('finds an alert that does not fire', () => {
    const alerts = readFileSync(path.join(EXAMPLES, 'alerts.yml'), 'utf8');
    write('alerts.yml', alerts.replace('deadlocked_requests > 0', 'deadlocked_requests > 7'));
    const tests = readFileSync(path.join(__dirname, 'alerts.test.yml'), 'utf8');
    const file = write('tests.yml', tests.replace('../../examples/metrics/', ''));
    expect(promtool(['test', 'rules', file]).text).toMatch(/FAILED[^]*LockDeadlock/);
  });

  test('can read every query of the dashboard', () => {
    const queries = JSON.parse(dashboard()).panels.flatMap(({ targets }) =>
      targets.map(({ expr }) =>
        expr.replaceAll('$bucket', '.*').replaceAll('$__rate_interval', '1m'),
      ),
    );
    expect(queries.length).toBeGreaterThan(10);
    const rules = queries.map((expr, at) => ({ record: `panel:query:${at}`, expr }));
    const file = write('queries.json', JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    const { status, text } = promtool(['check', 'rules', file]);
    expect(text).toContain(`SUCCESS: ${queries.length} rules found`);
    expect(status).toBe(0);
  });
});

describe('the dashboard of Grafana', () => {
  /** The compiler's errors about a dashboard, by Grafana's types. */
  function faultsOf(json) {
    const file = write(
      'dashboard.ts',
      `import type { Dashboard } from '@grafana/schema';\nexport const it: Dashboard = ${json};\n`,
    );
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext'];
    const args = [TSC, ...options, '--pretty', 'false', file];
    const { stdout } = spawnSync(process.execPath, args, { cwd: __dirname, encoding: 'utf8' });
    return stdout.split('\n').filter((line) => /error/.test(line));
  }

  test('has the types of Grafana', () => {
    expect(faultsOf(dashboard())).toEqual([]);
  });

  test('would not have them with a member that is not theirs', () => {
    const json = JSON.parse(dashboard());
    json.panels[0].gridPos.h = '8';
    expect(faultsOf(JSON.stringify(json))).toEqual([expect.stringMatching(/string/)]);
  });

  test('has panels that do not overlap, and different ids', () => {
    const { panels } = JSON.parse(dashboard());
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });
});
