'use strict';

const { openEtcdBackend } = require('./backends/remote/backend.js');
const { examineEtcd } = require('./backends/etcd/examine.js');

module.exports = { examineEtcd, openEtcdBackend };
