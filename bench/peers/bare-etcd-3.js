'use strict';

const one = require('./bare-etcd.js');
const { serveEtcd } = require('./etcd-server.js');

module.exports = { ...one, serve: (/** @type {string} */ directory) => serveEtcd(directory, 3) };
