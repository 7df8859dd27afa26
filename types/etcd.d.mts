import type * as etcd from './etcd.js';

export * from './etcd.js';

/** The `default` export of `import`. */
declare const exports: typeof etcd;
export default exports;
