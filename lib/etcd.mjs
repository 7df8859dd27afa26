import core from './etcd.js';

export const { examineEtcd, openEtcdBackend } = core;
export default core;
