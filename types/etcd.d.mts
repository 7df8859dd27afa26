import type * as etcd from './etcd.js';

export * from './etcd.js';

declare const exports: typeof etcd;
export default exports;
