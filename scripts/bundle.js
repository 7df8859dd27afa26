'use strict';

// Makes dist/ of lib/. npm pack runs it too.

const { ensurePackages } = require('./steps/packages.js');

async function main() {
  ensurePackages();
  const { writeLibrary, writeTool } = require('./steps/bundle.js');
  await writeLibrary();
  await writeTool();
}

main().catch((error) => {
  process.exitCode = 1;
  console.error(error);
});
