import type * as etcd from './etcd.js';

export * from './etcd.js';

/** What `import` gives as `default`. */
declare const exports: typeof etcd;
export default exports;
