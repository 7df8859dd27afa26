'use strict';

const { EtcdBackend } = require('./backend.js');
const { toClusterOptions } = require('./cluster-options.js');

/**
 * Locks of all machines that reach an etcd cluster.
 * @param {string} url  `etcd://host:2379,host2:2379/prefix?ttl=10`, or `etcds:` with TLS
 * @param {import('./cluster-options.js').EtcdOptions} [options]
 * @returns {EtcdBackend}
 * @throws TypeError where the URL is not understood, DOMException where gRPC is missing
 */
const openEtcdBackend = (url, options = {}) => new EtcdBackend(toClusterOptions(url, options));

module.exports = { openEtcdBackend };
