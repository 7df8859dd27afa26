import core from './postgres.js';

export const { examinePostgres, openPostgresBackend } = core;
export default core;
