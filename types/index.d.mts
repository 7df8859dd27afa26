import type * as holdfast from './index.js';

export * from './index.js';

/** All names of the package, as `require('holdfast')` gives them. */
declare const exports: Omit<typeof holdfast, 'default'>;
export default exports;
