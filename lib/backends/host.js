'use strict';

const { lazy } = require('../lazy.js');

/** As it was at the first use: the name that this process has sent to others does not change. */
const hostname = lazy(() => require('node:os').hostname());

/**
 * Whether a process is of this machine, so that its number is one of here.
 * @param {{ host?: string }} process  host: the name of its machine, if that is known
 */
const isHere = ({ host = '' }) => host === '' || host === hostname();

module.exports = { hostname, isHere };
