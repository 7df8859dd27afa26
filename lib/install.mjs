import './install.js';
