'use strict';

// npm test -- monitoring: what goes to Prometheus and Grafana, by their own tools: promtool reads
// the page of figures, the alerting rules and the queries of the dashboard; the dashboard is held
// against Grafana's own types. Brings what it needs, and installs no service.

const path = require('node:path');
const { conclude } = require('../steps/counts.js');
const { build } = require('../steps/build.js');
const { fetchProgram } = require('../steps/debian-package.js');
const { runJsTests } = require('../steps/js-tests.js');
const { installIn } = require('../steps/packages.js');
const { ROOT, succeeds } = require('../steps/run.js');

const findPromtool = () =>
  succeeds('promtool', ['--version']) ? 'promtool' : fetchProgram('prometheus', 'usr/bin/promtool');

conclude([
  {
    title: 'Figures, alerts and the Grafana dashboard, by the tools of Prometheus and Grafana',
    run: () => {
      build();
      installIn(path.join(ROOT, 'test', 'monitoring'));
      return runJsTests({
        report: 'monitoring',
        args: ['--testMatch', '<rootDir>/test/monitoring/*.test.js', ...process.argv.slice(2)],
        env: { PROMTOOL: findPromtool() },
      });
    },
  },
]);
