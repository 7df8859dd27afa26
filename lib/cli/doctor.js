'use strict';

const { checkCluster } = require('./doctor/cluster.js');
const { checkEnvironment } = require('./doctor/environment.js');
const { checkNativePart } = require('./doctor/native-part.js');
const { checkPlace } = require('./doctor/directory.js');
const { compareWithProcess } = require('./doctor/other-process.js');
const { noted } = require('./doctor/finding.js');
const { checkTable } = require('./doctor/table.js');
const { EXIT_STATUS } = require('./exit-status.js');
const { colors, printLine, toJson } = require('./output.js');
const { printable } = require('./printable.js');
const { clusterUrl, isSharedMemory, otherUsersText, placeText } = require('./table-options.js');
const { integerFrom } = require('./seconds.js');

/** @typedef {import('./doctor/finding.js').Finding} Finding */
/** @typedef {import('./table-options.js').Place & { pid?: number }} Options */

const MAX_PID = 2 ** 22;

const MARKS = {
  ok: colors.green('ok  '),
  note: colors.cyan('note'),
  warning: colors.yellow('WARN'),
  fault: colors.red('FAIL'),
};

/** @param {Finding} finding */
function printFinding({ level, title, advice }) {
  printLine(`${MARKS[level]}  ${printable(title)}`);
  if (advice !== undefined) printLine(`      ${colors.bold('→')} ${printable(advice)}`);
}

/**
 * @param {Options} options
 * @returns {Promise<Finding[]>}
 */
async function examine(options) {
  const findings = isSharedMemory(options)
    ? [...checkNativePart(), ...checkPlace(options)]
    : [noted(`locks of ${placeText(options)}`)];
  const cluster = clusterUrl(options);
  if (cluster !== undefined) findings.push(...(await checkCluster(cluster, options.bucket)));
  // What cannot be opened is not opened: the place says why.
  const isUsable = !findings.some(({ level }) => level === 'fault');
  if (isUsable) findings.push(...(await checkTable(options)));
  if (isSharedMemory(options)) findings.push(...checkEnvironment(options));
  const others = otherUsersText(options);
  if (others !== '') findings.push(noted(others));
  if (options.pid !== undefined) findings.push(...compareWithProcess(options.pid, options));
  return findings;
}

/** @param {Options} options */
async function doctor(options) {
  const findings = await examine(options);
  const faults = findings.filter(({ level }) => level === 'fault').length;
  const warnings = findings.filter(({ level }) => level === 'warning').length;
  // Before the output, whose reader may close it early.
  if (faults > 0) process.exitCode = EXIT_STATUS.no;
  if (options.json) {
    for (const finding of findings) printLine(toJson(finding));
  } else {
    for (const finding of findings) printFinding(finding);
    printLine('');
    printLine(
      faults + warnings === 0
        ? 'No problem was found.'
        : `Problems: ${faults}, warnings: ${warnings}; what to do stands behind each arrow.`,
    );
  }
}

/** @param {import('commander').Command} program */
const add = (program) =>
  program
    .command('doctor')
    .description('check whether these places can share locks, and if not, say why')
    .option(
      '--pid <pid>',
      'compare with this process: does it share the locks?',
      integerFrom(1, MAX_PID),
    )
    .option('--json', 'one JSON object per finding')
    .action(doctor);

module.exports = { add };
