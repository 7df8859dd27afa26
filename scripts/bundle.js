'use strict';

// npm pack: puts the modules of lib/ into the few files of dist/.

require('./steps/bundle.js').writeBundle();
