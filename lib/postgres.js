'use strict';

const { openPostgresBackend } = require('./backends/postgres/backend.js');
const { examinePostgres } = require('./backends/postgres/examine.js');

module.exports = { examinePostgres, openPostgresBackend };
