'use strict';

const { statfsSync } = require('node:fs');

const TMPFS = 0x0102_1994;
const RAMFS = 0x8584_58f6;
/** File systems over a network: memory that is mapped there is not shared between machines. */
const NETWORK_FILE_SYSTEMS = /** @type {Record<number, string>} */ ({
  0x6969: 'NFS',
  0xff53_4d42: 'CIFS',
  0xfe53_4d42: 'SMB2',
  0x0102_1997: '9P',
  0x6573_5546: 'FUSE',
  0x00c3_6400: 'Ceph',
});

/**
 * The file system of a path.
 * @param {string} file
 */
function fileSystemOf(file) {
  const { type, bsize, bavail } = statfsSync(file);
  return {
    type,
    /** Its name, if it is one over a network. */
    network: /** @type {string | undefined} */ (NETWORK_FILE_SYSTEMS[type]),
    isInMemory: type === TMPFS || type === RAMFS,
    freeBytes: bsize * bavail,
  };
}

module.exports = { fileSystemOf };
