'use strict';

require('./agent-host.js').serve();
