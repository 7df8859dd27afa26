'use strict';

const { checkHost } = require('../../lib/cli/doctor.js');

test.each([
  ['connect ECONNREFUSED 127.0.0.1:5432', /does the server run/],
  ['The server does not support SSL connections', /leave out sslmode/],
  ['no pg_hba.conf entry for host "::1", user "a", database "b", no encryption', /sslmode=/],
  ['self-signed certificate in certificate chain', /\?sslrootcert=FILE/],
  ['connection requires a valid client certificate', /\?sslcert=FILE&sslkey=FILE/],
  ['password authentication failed for user "me"', /role:password@/],
  ['role "me" does not exist', /create the role/],
  ['database "app" does not exist', /create the database/],
  ['it is read-only: default_transaction_read_only is on', /set it to off/],
  ["the schema 'holdfast' has no version, as a copy without its data: drop it", /DROP SCHEMA/],
])('the advice for "%s" of PostgreSQL is about PostgreSQL', (problem, advice) => {
  const [{ level, advice: given }] = checkHost({ endpoint: 'h:5432', problem });
  expect(level).toBe('fault');
  expect(given).toMatch(advice);
});
