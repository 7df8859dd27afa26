import core from './index.js';

export const { LockMetrics, collect, toPrometheus } = core;
export default core;
