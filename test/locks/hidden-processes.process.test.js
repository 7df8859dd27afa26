'use strict';

const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { MEMBERS, as, describeMembers } = require('../support/members.js');
const { describeInside } = require('../support/namespaces.js');

// With `hidepid`, /proc hides the processes of other users: their files (1), or all of them (2, 4).
// A living process that it hides is 'unknown', and an ended one is 'gone'.

const FACTS = path.join(__dirname, '../../lib/locks/process-facts.js');
const PROGRAM = path.join(__dirname, '../../lib/cli/holdfast.js');
const [MEMBER, OTHER] = MEMBERS;

/** The id of a process that has ended, and was waited for. */
function endedProcess() {
  return spawnSync('true').pid;
}

describeMembers('another user', () => {
  describe.each(['1', '2', '4'])('with a /proc that has hidepid=%s', (hidepid) => {
    const inside = [
      ...['unshare', '--mount', 'sh', '-c'],
      // Linux before 5.8 refuses a 4; there the second mount would change the /proc of the machine.
      'mount -t proc -o hidepid=4 proc /proc && ' +
        `mount -t proc -o hidepid=${hidepid} proc /proc && exec "$0" "$@"`,
    ];

    describeInside(inside, 'processes', () => {
      let holder;
      beforeEach(async () => {
        const [command, ...words] = as(OTHER);
        const program = [process.execPath, '-e', 'console.log("runs"); setInterval(() => {}, 1e6)'];
        holder = spawn(command, [...words, ...program], { stdio: ['ignore', 'pipe', 'inherit'] });
        await once(holder.stdout, 'data');
      });
      afterEach(() => holder.kill('SIGKILL'));

      /** The facts about a process, as another user has them. */
      function factsOf(pid, user = MEMBER) {
        const script = `const { factsOf } = require(${JSON.stringify(FACTS)});
          console.log(JSON.stringify(factsOf({ pid: ${pid || 'process.pid'} })));`;
        const [command, ...words] = [...inside, ...as(user), process.execPath, '-e', script];
        const { stdout, stderr } = spawnSync(command, words, { encoding: 'utf8' });
        expect(stderr).toBe('');
        return JSON.parse(stdout);
      }

      test('of another user are unknown, without a command', () => {
        expect(factsOf(holder.pid)).toEqual({ processState: 'unknown', command: '' });
      });

      test('of another user are unknown also when they are stopped', () => {
        holder.kill('SIGSTOP');
        expect(factsOf(holder.pid)).toEqual({ processState: 'unknown', command: '' });
      });

      test('that have ended are gone', () => {
        expect(factsOf(endedProcess())).toEqual({ processState: 'gone', command: '' });
      });

      test('of the same user are seen as before', () => {
        expect(factsOf(0)).toMatchObject({ processState: 'running' });
        expect(factsOf(holder.pid, OTHER)).toMatchObject({ processState: 'running' });
      });

      test('are not taken for ended ones by doctor --pid', () => {
        const doctor = [process.execPath, PROGRAM, 'doctor', '--pid'];
        const reportOn = (pid) => {
          const [command, ...words] = [...inside, ...as(MEMBER), ...doctor, `${pid}`];
          return spawnSync(command, words, { encoding: 'utf8' }).stdout;
        };
        expect(reportOn(holder.pid)).toMatch(/does not show process \d+ to this user \(hidepid\)/);
        expect(reportOn(endedProcess())).toMatch(/there is no process \d+ here/);
      });
    });
  });
});
