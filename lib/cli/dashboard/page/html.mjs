import htm from 'htm';
import { h } from 'preact';

/** Elements as templates. */
export const html = /** @type {any} */ (htm).bind(h);
