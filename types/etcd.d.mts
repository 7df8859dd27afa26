import type * as etcd from './etcd.js';

export * from './etcd.js';

/** The `default` export of `import`. */
declare const exports: Omit<typeof etcd, 'default'>;
export default exports;
