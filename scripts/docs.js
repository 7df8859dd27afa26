'use strict';

// npm run docs [-- --serve | --dev]: the documentation site, in build/site; then shown on this
// machine. Installs what builds it, in site/; after that it needs no network.
//
// The pages of the documentation site: the Markdown files of the project and what they show, in a
// separate folder. Links to files that are no pages keep their text alone. The page of results gets
// charts of its tables.

const fs = require('node:fs');
const path = require('node:path');
const { mustRun, ROOT, runProgram } = require('./steps/run.js');
const { installIn } = require('./steps/toolchain.js');

// The types of the benchmarks are not checked.
const HARNESS = path.join(ROOT, 'bench', 'harness');
/** @type {{ allScenarioNames: () => string[], loadScenario: (name: string) => any }} */
const { allScenarioNames, loadScenario } = require(path.join(HARNESS, 'scenarios.js'));
const { formatNumber } = require(path.join(HARNESS, 'wording.js'));

const PAGES = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'docs',
  'examples',
  'bench/README.md',
  'bench/RESULTS.md',
  'bench/PROFILE.md',
];
const SHOWN = /\.(md|svg|png)$/;

/**
 * @param {string} root  of the project
 * @returns {string[]} the files of the site, relative to the root
 */
function pageFiles(root) {
  return PAGES.flatMap((name) => {
    if (!fs.statSync(path.join(root, name)).isDirectory()) return [name];
    return fs
      .readdirSync(path.join(root, name), { recursive: true, encoding: 'utf8' })
      .map((file) => path.posix.join(name, file))
      .filter((file) => SHOWN.test(file) && !file.includes('node_modules/'));
  });
}

/**
 * @param {string} text  of a page
 * @param {string} file
 * @param {Set<string>} present  files of the site
 */
function withKnownLinks(text, file, present) {
  // A path in HTML is a module's name for the bundler, unless it begins with a dot.
  const html = text.replace(/ (src|srcset)="(?![a-z]+:|\.)/g, ' $1="./');
  return html.replace(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (all, mark, label, link) => {
    if (/^([a-z]+:|#)/.test(link)) return all;
    const target = path.posix.join(path.posix.dirname(file), link.split('#')[0]);
    if (present.has(target)) return all;
    const page = path.posix.join(target, 'README.md');
    return present.has(page) ? `${mark}[${label}](${link}/README.md)` : label;
  });
}

/**
 * Collects the pages anew.
 * @param {string} root  of the project
 * @param {string} folder  that is made, and was made by this before
 */
function collectPages(root, folder) {
  fs.rmSync(folder, { recursive: true, force: true });
  const files = pageFiles(root);
  const present = new Set(files);
  for (const file of files) {
    const target = path.join(folder, file);
    fs.mkdirSync(path.dirname(target), { recursive: true });
    const source = path.join(root, file);
    if (!file.endsWith('.md')) fs.copyFileSync(source, target);
    else fs.writeFileSync(target, withKnownLinks(fs.readFileSync(source, 'utf8'), file, present));
  }
  fs.copyFileSync(path.join(root, 'site', 'index.md'), path.join(folder, 'index.md'));
  const icon = path.join('lib', 'cli', 'dashboard', 'page', 'icon.svg');
  fs.mkdirSync(path.join(folder, 'public'));
  fs.copyFileSync(path.join(root, icon), path.join(folder, 'public', 'icon.svg'));
}

// The charts of the page of results.

/** @typedef {Record<string, Record<string, number>>} Results  figures by contender and name */

const WIDTH = 760;
const BAR_HEIGHT = 30;
const LINES_HEIGHT = 360;
const OWN_COLOR = '#1f6feb';
const OTHER_COLOR = '#9aa4b2';
/** Readable on a light and on a dark page. */
const TEXT = { color: '#6e7781', fontSize: 12 };
const LOG_AXIS = { type: 'log', axisLabel: TEXT, splitLine: { lineStyle: { opacity: 0.3 } } };

/**
 * The medians of a table, which stand before the range of a figure.
 * @param {string} section
 * @returns {Results}
 */
function resultsOf(section) {
  const lines = section.match(/^\|.*\|$/gm) ?? [];
  const [[, ...names], , ...rows] = lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return Object.fromEntries(
    rows.map(([contender, ...cells]) => {
      const medians = cells.map((cell) => Number.parseFloat(cell.replaceAll(',', '')));
      const figures = names.map((name, i) => [name, medians[i]]);
      return [contender, Object.fromEntries(figures.filter(([, value]) => !Number.isNaN(value)))];
    }),
  );
}

/** @param {string} contender */
const isOurs = (contender) => contender.startsWith('holdfast');

/** @param {Results} results @param {{ figure: string }} chart */
function barOption(results, chart) {
  const bars = Object.entries(results)
    .map(([contender, figures]) => ({ contender, value: figures[chart.figure] }))
    .filter(({ value }) => value > 0);
  const least = Math.min(...bars.map(({ value }) => value));
  return {
    // The width of text is only estimated without a browser: room for more.
    grid: { left: 40, right: 90, top: 50, bottom: 10, containLabel: true },
    xAxis: { ...LOG_AXIS, min: 10 ** Math.floor(Math.log10(least) - 0.1) },
    yAxis: {
      type: 'category',
      inverse: true,
      axisLabel: TEXT,
      data: bars.map(({ contender }) => contender),
    },
    series: [
      {
        type: 'bar',
        label: { show: true, position: 'right', ...TEXT },
        data: bars.map(({ contender, value }) => ({
          value,
          itemStyle: { color: isOurs(contender) ? OWN_COLOR : OTHER_COLOR },
          label: { formatter: formatNumber(value) },
        })),
      },
    ],
  };
}

/** @param {Results} results @param {{ sizes: number[], unit: string }} chart */
function lineOption(results, chart) {
  const { sizes, unit } = chart;
  const series = Object.entries(results).map(([contender, figures]) => ({
    name: contender,
    type: 'line',
    data: sizes
      .map((size) => [size, figures[`${size} ${unit}`]])
      .filter(([, value]) => value !== undefined),
    ...(isOurs(contender) && { lineStyle: { width: 3 } }),
  }));
  return {
    grid: { left: 30, right: 300, top: 50, bottom: 10, containLabel: true },
    legend: { orient: 'vertical', left: WIDTH - 285, top: 50, textStyle: TEXT },
    xAxis: LOG_AXIS,
    yAxis: LOG_AXIS,
    series,
  };
}

/**
 * A chart as SVG: bars for one figure of all contenders, or lines over sizes.
 * @param {Results} results
 * @param {any} chart  of a scenario of bench/scenarios
 */
function toSvg(results, chart) {
  const echarts = require(path.join(SITE, 'node_modules', 'echarts'));
  const isBars = chart.figure !== undefined;
  const height = isBars ? 80 + BAR_HEIGHT * Object.keys(results).length : LINES_HEIGHT;
  const options = { renderer: 'svg', ssr: true, width: WIDTH, height };
  const drawing = echarts.init(null, null, options);
  drawing.setOption({
    animation: false,
    title: { text: `${chart.title} (logarithmic)`, left: 10, textStyle: { ...TEXT, fontSize: 15 } },
    ...(isBars ? barOption(results, chart) : lineOption(results, chart)),
  });
  const svg = drawing.renderToSVGString();
  drawing.dispose();
  return svg;
}

/**
 * Puts a chart behind the table of each scenario that has a chart.
 * @param {string} page  bench/RESULTS.md
 * @param {(name: string, results: Results, chart: any) => void} draw  draws charts/<name>.svg
 */
function withCharts(page, draw) {
  const sections = page.split(/^(?=## )/m).map((section) => {
    const name = allScenarioNames().find((each) => section.startsWith(`## ${each}\n`));
    const chart = name && loadScenario(name).chart;
    if (!chart) return section;
    draw(name, resultsOf(section), chart);
    return `${section.trimEnd()}\n\n![${chart.title}](charts/${name}.svg)\n\n`;
  });
  return sections.join('');
}

/** @param {string} folder  with the collected pages */
function addCharts(folder) {
  const page = path.join(folder, 'bench', 'RESULTS.md');
  const charts = path.join(folder, 'bench', 'charts');
  fs.mkdirSync(charts);
  const text = withCharts(fs.readFileSync(page, 'utf8'), (name, results, chart) =>
    fs.writeFileSync(path.join(charts, `${name}.svg`), toSvg(results, chart)),
  );
  fs.writeFileSync(page, text);
}

const SITE = path.join(ROOT, 'site');
const COLLECTED = path.join(ROOT, 'build', 'site-pages');

/** @param {string[]} args */
const tool = (...args) => mustRun('npm', ['exec', '--prefix', SITE, '--', ...args]);

function main() {
  installIn(SITE);
  collectPages(ROOT, COLLECTED);
  addCharts(COLLECTED);
  tool('typedoc', '--options', path.join(SITE, 'typedoc.json'));
  if (process.argv.includes('--dev')) tool('vitepress', 'dev', SITE);
  else {
    tool('vitepress', 'build', SITE);
    console.log(`The site is in ${path.join(ROOT, 'build', 'site')}`);
    if (process.argv.includes('--serve')) tool('vitepress', 'preview', SITE);
  }
}

if (require.main === module) runProgram(main);

module.exports = { withCharts, withKnownLinks };
