'use strict';

const { SCRIPT, grantsFor } = require('../backends/postgres/schema.js');
const { CommandError, EXIT_STATUS } = require('./exit-status.js');
const { printLine } = require('./output.js');
const { toName } = require('./table-options.js');

/** @param {{ schema?: boolean, grant?: string }} options */
function postgres({ schema, grant }) {
  if (!schema && grant === undefined) {
    throw new CommandError('postgres: expected --schema or --grant ROLE', EXIT_STATUS.usage);
  }
  if (schema) printLine(SCRIPT);
  if (grant !== undefined) printLine(grantsFor(grant));
}

/** @param {import('commander').Command} program */
const add = (program) =>
  program
    .command('postgres')
    .description('print the SQL that prepares a database for locks, for psql')
    .option(
      '--schema',
      "creates the schema 'holdfast', where a role may not do it at its first use",
    )
    .option('--grant <role>', 'gives a role the rights that it needs', toName)
    .action(postgres);

module.exports = { add };
