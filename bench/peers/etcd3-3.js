'use strict';

const { serveEtcd } = require('./etcd-server.js');
const one = require('./etcd3.js');

module.exports = { ...one, serve: (/** @type {string} */ directory) => serveEtcd(directory, 3) };
