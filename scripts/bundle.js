'use strict';

// npm pack: puts the modules of lib/ into the few files of dist/, and the command line tool beside
// them.

require('./steps/build.js').bundle();
