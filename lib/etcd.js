'use strict';

const { openEtcdBackend } = require('./backends/etcd/open.js');
const { examineEtcd } = require('./backends/etcd/examine.js');

module.exports = { examineEtcd, openEtcdBackend };
