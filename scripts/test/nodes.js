'use strict';

// npm test -- nodes [majors…]: the Jest tests of the one built addon on every supported version of
// Node.

const { beWhole } = require('../../test/support/lengths.js');
const { build } = require('../steps/build.js');
const { conclude } = require('../steps/counts.js');
const { MAJORS, nodeSteps } = require('../steps/nodes.js');

const majors = process.argv.slice(2);

beWhole();
build();
conclude(nodeSteps(majors.length > 0 ? majors : MAJORS));
