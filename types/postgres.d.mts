import type * as postgres from './postgres.js';

export * from './postgres.js';

/** The `default` export of `import`. */
declare const exports: typeof postgres;
export default exports;
