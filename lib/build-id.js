'use strict';

// The build that a file belongs to. The package may be replaced on disk while a program runs: its
// new files must not run inside the old ones.

/** The same in all files of one build. */
/* global BUILD_ID */
// @ts-expect-error -- the bundle defines it
const BUILD = /** @type {string} */ (typeof BUILD_ID === 'string' ? BUILD_ID : 'source');

const REPLACED =
  'The package holdfast was replaced on disk while this program runs: restart the program.';

/** The exit status of a program whose build differs from the build of its starter. */
const REPLACED_STATUS = 4;

/**
 * @param {unknown} build  of the file that uses this one
 * @throws {Error} ERR_HOLDFAST_REPLACED if it is another one
 */
function checkBuild(build) {
  if (build === BUILD) return;
  throw Object.assign(new Error(REPLACED), { code: 'ERR_HOLDFAST_REPLACED' });
}

module.exports = { BUILD, REPLACED, REPLACED_STATUS, checkBuild };
