'use strict';

const { serveEtcd } = require('./etcd-server.js');
const one = require('./holdfast-etcd.js');

module.exports = { ...one, serve: (/** @type {string} */ directory) => serveEtcd(directory, 3) };
