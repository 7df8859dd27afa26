/** Types only: there is nothing to import at run time. */
export type * from './backend.js';
