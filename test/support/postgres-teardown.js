'use strict';

/** After a run of Jest. */
module.exports = () => globalThis.postgresServer.remove();
