'use strict';

const { openEtcdBackend } = require('./backends/etcd/backend.js');
const { examineEtcd } = require('./backends/etcd/examine.js');

module.exports = { examineEtcd, openEtcdBackend };
