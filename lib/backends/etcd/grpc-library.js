'use strict';

const { createRequire } = require('node:module');
const { invalidStateError } = require('../../errors.js');
const { packageFile } = require('../../package-files.js');

/**
 * @typedef {object} Services
 * @property {any} grpc  the module `@grpc/grpc-js`
 * @property {Record<'KV' | 'Watch' | 'Lease' | 'Maintenance' | 'Auth', any>} services
 */

const MISSING =
  'Locks in etcd need the package @grpc/grpc-js, which is an optional peer dependency of ' +
  'holdfast: npm install @grpc/grpc-js';

/** Numbers of 64 bits become decimal strings: leases use all of them. */
const LOADER_OPTIONS = { keepCase: true, longs: String, defaults: true, oneofs: true };

/** @type {Services | undefined} */
let loaded;

/**
 * Finds the gRPC library. The loader of .proto files is a dependency of the library and is found
 * from there.
 * @returns {NodeJS.Require} of the library
 * @throws DOMException InvalidStateError when the library is missing
 */
function findLibrary() {
  try {
    const requireThere = createRequire(require.resolve('@grpc/grpc-js'));
    requireThere.resolve('@grpc/proto-loader');
    return requireThere;
  } catch (error) {
    if (/** @type {any} */ (error).code !== 'MODULE_NOT_FOUND') throw error;
    throw invalidStateError(MISSING);
  }
}

/**
 * The gRPC library, and etcd's services over it.
 * @returns {Services}
 * @throws DOMException InvalidStateError when the library is missing
 */
function loadServices() {
  if (loaded !== undefined) return loaded;
  const loader = findLibrary()('@grpc/proto-loader');
  const grpc = require('@grpc/grpc-js');
  const definition = loader.loadSync(packageFile('rpc.proto'), LOADER_OPTIONS);
  const services = /** @type {any} */ (grpc.loadPackageDefinition(definition)).etcdserverpb;
  loaded = { grpc, services };
  return loaded;
}

module.exports = { findLibrary, loadServices };
