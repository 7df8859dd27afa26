import type * as metrics from './metrics.js';

export * from './metrics.js';

/** All names of this entry point, as `require('holdfast/metrics')` gives them. */
declare const exports: Omit<typeof metrics, 'default'>;
export default exports;
