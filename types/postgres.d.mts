import type * as postgres from './postgres.js';

export * from './postgres.js';

/** The `default` export of `import`. */
declare const exports: Omit<typeof postgres, 'default'>;
export default exports;
