'use strict';

const { spawnSync } = require('node:child_process');
const { chmodSync } = require('node:fs');
const { join } = require('node:path');
const { PROGRAM } = require('../support/cli.js');
const { MEMBERS, as, describeMembers, makeShared } = require('../support/members.js');
const { describeInside } = require('../support/namespaces.js');
const { PROCESS_BACKENDS } = require('../support/process-backends.js');
const { ProcessBucket, untilEqual } = require('../support/process-bucket.js');

// Members of a group whose processes /proc hides from each other (hidepid=2) share locks as others
// do: no lock, and no notice of a death, depends on /proc. Without the sweep. The test itself,
// whose /proc hides nothing, uses another directory.

const INSIDE = [
  ...['unshare', '--mount', 'sh', '-c'],
  // Linux before 5.8 refuses a 4; there the second mount would change the /proc of the machine.
  'mount -t proc -o hidepid=4 proc /proc && ' +
    'mount -t proc -o hidepid=2 proc /proc && exec "$0" "$@"',
];
const BUCKET = 'process';
const HIDDEN = { processState: 'unknown', command: '' };

describeMembers('members of a group', () => {
  describe.each(Object.keys(PROCESS_BACKENDS))('over %s', (backend) => {
    describeInside(INSIDE, 'whose processes are hidden from each other', () => {
      let bucket;
      let directory;
      let members;
      beforeEach(async () => {
        bucket = new ProcessBucket({ backend });
        directory = join(bucket.directory, 'shared');
        chmodSync(bucket.directory, 0o755);
        makeShared(directory);
        members = [];
        // One after the other: over a broker the first one starts it.
        for (const member of MEMBERS) {
          members.push(
            await bucket.open('process', { directory, inside: [...INSIDE, ...as(member)] }),
          );
        }
      });
      afterEach(async () => {
        await bucket.close();
        PROCESS_BACKENDS[backend].remove(directory); // and its broker
      });

      test('see no process of each other', async () => {
        for (const member of members) {
          const pids = await member.run(
            ({ name, require: load }) =>
              name.split(' ').filter((pid) => load('node:fs').existsSync(`/proc/${pid}`)),
            members.map(({ pid }) => pid).join(' '),
          );
          expect(pids).toEqual([`${member.pid}`]);
        }
      });

      test('exclude each other, in the order of their requests', async () => {
        const [a, b, c] = members;
        const held = await a.hold('x');
        const order = [c, b, a];
        const requests = [];
        for (const member of order) requests.push(await member.request('x'));
        expect((await b.queryOf('x')).pending).toHaveLength(3);
        expect(await c.isLocked('x')).toBe(true);
        await held.release();
        for (const [i, member] of order.entries()) {
          await requests[i].granted;
          const { held: holders } = await a.query();
          expect(holders).toMatchObject([{ name: 'x', clientId: await member.clientId() }]);
          await requests[i].release();
        }
      });

      test('are granted the lock of another member that is killed', async () => {
        const [a, b, c] = members;
        await a.hold('x');
        const waiting = [await b.request('x'), await c.request('x')];
        a.endBy('SIGKILL');
        await waiting[0].granted;
        b.endBy('SIGKILL');
        await waiting[1].granted;
        await waiting[1].release();
        expect(await c.query()).toEqual({ held: [], pending: [] });
      });

      test('steal from each other, and the holder is notified', async () => {
        const [holder, stealer] = members;
        const held = await holder.hold('x', {}, { reportsLoss: true });
        const stolen = await stealer.request('x', { steal: true });
        await stolen.granted;
        expect(await held.lost).toMatchObject({ reason: 'stolen' });
        await stolen.release();
      });

      test('see the holder with its process id and times in inspect(), without its command', async () => {
        const [holder, other] = members;
        await holder.hold('x', { label: 'a label' });
        const { held } = await other.inspectionOf('x');
        const expected = { pid: holder.pid, label: 'a label', held: expect.any(Number) };
        expect(held).toMatchObject([{ ...expected, ...HIDDEN }]);
        expect((await holder.inspectionOf('x')).held).toMatchObject([
          { ...expected, processState: 'running', command: expect.stringContaining('actor') },
        ]);
      });

      test('see the holder in ls, with an unknown state', async () => {
        const [holder] = members;
        await holder.hold('x');
        const scheme = backend === 'broker' ? 'broker' : 'shm';
        const url = ['--url', `${scheme}://${directory}`, '--bucket', BUCKET];
        const [command, ...words] = [...INSIDE, ...as(MEMBERS[1]), process.execPath, PROGRAM];
        const env = { ...process.env, NO_COLOR: '1' };
        delete env.FORCE_COLOR;
        const run = (...args) =>
          spawnSync(command, [...words, ...args, ...url], { encoding: 'utf8', env });
        const { status, stdout, stderr } = run('ls', '--json');
        expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
        expect(JSON.parse(stdout)).toMatchObject({ name: 'x', pid: holder.pid, ...HIDDEN });
        expect(run('ls').stdout).toMatch(new RegExp(`^x +held +exclusive .* ${holder.pid} `, 'm'));
      });

      test('remove what killed members have left', async () => {
        const [a, b, c] = members;
        for (const member of [a, b]) await member.hold('x', { mode: 'shared' });
        const waiting = await c.request('x');
        for (const member of [a, b]) member.endBy('SIGKILL');
        await waiting.granted;
        const { filesIn, filesOf } = PROCESS_BACKENDS[backend];
        await untilEqual(() => filesIn(directory), filesOf({ agents: 1, processes: 1 }));
      });
    });
  });
});
