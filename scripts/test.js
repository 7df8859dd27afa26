'use strict';

// npm test, from a fresh clone on: installs what is missing, builds, runs the C++ and the Jest
// tests, and ends with the line `N passed, N failed`. The command `npm test -- SUITE [arguments…]`
// runs one suite: one of SUITES below, or one of the folder scripts/test, whose head describes it.

const { readdirSync } = require('node:fs');
const path = require('node:path');
const { build } = require('./build.js');
const { conclude, buildCpp, runCppTests, runJsTests } = require('./steps/suites.js');
const {
  ensurePackages,
  installIn,
  ensureToolchain,
  fetchProgram,
} = require('./steps/toolchain.js');
const { ROOT, mustRun, run, runProgram, succeeds } = require('./steps/run.js');

const FOLDER = path.join(__dirname, 'test');

const [suite = 'all', ...args] = process.argv.slice(2);

const cpp = (/** @type {string} */ preset) => ({
  title: preset === 'default' ? 'C++ tests' : `C++ tests, ${preset}`,
  run: () => runCppTests(preset, args),
});

const js = {
  title: 'JavaScript tests',
  run: () => {
    build();
    return runJsTests({ args });
  },
};

/** @param {string} folder  of test/, with its own packages @param {NodeJS.ProcessEnv} [env] */
const runFolder = (folder, env = {}) =>
  runJsTests({
    report: folder,
    args: ['--testMatch', `<rootDir>/test/${folder}/*.test.js`, ...args],
    env,
  });

/** Debian's Chromium, and what drives it. */
function ensureBrowser() {
  ensureToolchain('browser');
  ensurePackages();
  installIn(path.join(ROOT, 'test', 'dashboard'));
}

const dashboard = {
  title: 'The page in a browser',
  run: () => {
    ensureBrowser();
    build();
    return runFolder('dashboard');
  },
};

const site = {
  title: 'The documentation site in a browser',
  run: () => {
    ensureBrowser();
    mustRun('node', ['scripts/docs.js']);
    return runFolder('site');
  },
};

const monitoring = {
  title: 'Figures, alerts and the Grafana dashboard, by the tools of Prometheus and Grafana',
  run: () => {
    build();
    installIn(path.join(ROOT, 'test', 'monitoring'));
    const isInstalled = succeeds('promtool', ['--version']);
    const PROMTOOL = isInstalled ? 'promtool' : fetchProgram('prometheus', 'usr/bin/promtool');
    return runFolder('monitoring', { PROMTOOL });
  },
};

/** Jest runs a short one of 10 kills. */
function brokerStress() {
  const [kills = '5000', grants = '1000000'] = args;
  return {
    title: `stress test of the broker, ${kills} kills`,
    run: () =>
      runJsTests({
        report: 'broker',
        args: ['test/broker/broker-stress.process.test.js'],
        env: { HOLDFAST_STRESS_KILLS: kills, HOLDFAST_STRESS_GRANTS: grants },
      }),
  };
}

/** @param {Parameters<typeof conclude>[0]} all */
const steps =
  (...all) =>
  () =>
    conclude(all);

/** @type {Record<string, () => void>} */
const SUITES = {
  all: steps(cpp('default'), js),
  cpp: steps(cpp('default')), // further arguments go to CTest
  js: steps(js), // to Jest
  asan: steps(cpp('asan')), // the C++ tests under a sanitizer
  tsan: steps(cpp('tsan')),
  dashboard: steps(dashboard),
  site: steps(site), // screenshots are in build/site-shots
  monitoring: steps(monitoring), // installs no service
  install: () => require('../test/install/groups.js').main(args),
  broker: () => conclude([brokerStress()]), // the long run: [kills] [grants]
  simulation() {
    // The long run: [count of seeds].
    buildCpp('default');
    process.exitCode = run(path.join(ROOT, 'build', 'cmake-default', 'simulation_test'), [], {
      env: { HOLDFAST_SIMULATIONS: args[0] ?? '1000000' },
    });
  },
};
const FOLDER_SUITES = readdirSync(FOLDER).map((name) => path.basename(name, '.js'));

if (Object.hasOwn(SUITES, suite)) runProgram(SUITES[suite]);
else if (FOLDER_SUITES.includes(suite)) {
  runProgram(() => require(path.join(FOLDER, `${suite}.js`)).main(args));
} else {
  const known = [...Object.keys(SUITES), ...FOLDER_SUITES];
  console.error(`unknown suite "${suite}"; there are ${known.join(', ')}`);
  process.exitCode = 2;
}
