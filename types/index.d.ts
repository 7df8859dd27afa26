export * from './locks.js';
export * from './scheduler.js';
export type * from './backend.js';
