'use strict';

const { describeBadDays } = require('../support/bad-days-contract.js');

describeBadDays(['PostgreSQL']);
