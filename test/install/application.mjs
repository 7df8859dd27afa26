// The application that `npm test -- install bundlers` bundles: a lock, and parts that load later.
import { readFileSync } from 'node:fs';
import { locks, Mutex, scheduler } from 'holdfast';

const addonFile = () =>
  /(\/.*\/holdfast\.node)$/m.exec(readFileSync('/proc/self/maps', 'utf8'))?.[1];

async function main() {
  const name = await locks.request('a', (lock) => lock.name);
  const mode = await new Mutex('m').runShared((lock) => lock.mode);
  const task = await scheduler.postTask(() => 'task');
  console.log(JSON.stringify({ name, mode, task, addon: addonFile() }));
}

main().catch((error) => {
  console.error(`${error.code} ${error.stack}`);
  process.exitCode = 1;
});
