'use strict';

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const { join } = require('node:path');
const { as, describeMembers } = require('../support/members.js');

// Every user may make directories in /dev/shm. A member of any group of this user may make the
// default directory of this user before its first program does, and share it with that group.

const LIBRARY = join(__dirname, '../../lib/index.js');
const DAEMON = 1; // an account that is in its own group, which has the same number
const VICTIM = { user: 64_000 + (process.pid % 1000), groups: [DAEMON] }; // not in use
const TRAP = `/dev/shm/holdfast-${VICTIM.user}`;

afterEach(() => fs.rmSync(TRAP, { recursive: true, force: true }));

describeMembers('the default directory of a user', () => {
  describe.each(['shm:', 'broker:'])('over %s', (url) => {
    test.each([DAEMON, 0, VICTIM.user])('is refused if user %i shares it', (owner) => {
      fs.mkdirSync(TRAP);
      fs.chownSync(TRAP, owner, DAEMON);
      fs.chmodSync(TRAP, 0o2770);
      const program = `require(${JSON.stringify(LIBRARY)}).locks.request('x', () => {})
        .then(() => console.log('granted'), (error) => console.log(error.name, error.message));`;
      const [command, ...words] = [...as(VICTIM), process.execPath, '-e', program];
      const env = { ...process.env, HOLDFAST_DIR: '', HOLDFAST_URL: url };
      const { stdout } = spawnSync(command, words, { encoding: 'utf8', env });
      expect(stdout).toMatch(/^SecurityError .*the directory of this user alone/);
      expect(fs.readdirSync(TRAP)).toEqual([]);
    });
  });
});
