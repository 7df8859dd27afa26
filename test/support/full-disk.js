'use strict';

const { writeFileSync } = require('node:fs');

/**
 * The file takes all the room that its disk has.
 * @param {string} file
 * @param {number} diskBytes  the size of the disk
 */
function fillFile(file, diskBytes) {
  writeFileSync(file, '');
  for (let bytes = diskBytes; bytes >= 1;) {
    try {
      writeFileSync(file, Buffer.alloc(bytes, 1), { flag: 'a' });
    } catch (error) {
      if (error.code !== 'ENOSPC') throw error;
      bytes = Math.floor(bytes / 2);
    }
  }
}

module.exports = { fillFile };
