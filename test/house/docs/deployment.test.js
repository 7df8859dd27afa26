'use strict';

// The blocks of the documents that are not JavaScript: files for systemd, Docker Compose and
// Kubernetes, and lines for a shell.

const { execFileSync, spawnSync } = require('node:child_process');
const { mkdirSync, mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const yaml = require('js-yaml');
const { codeBlocks, documents } = require('../../support/markdown.js');

const blocks = documents().flatMap(codeBlocks);
const ofLanguage = (name) => blocks.filter(({ language }) => language === name);
const titleOf = ({ file, line }) => `${file}:${line}`;
const yamlFiles = ofLanguage('yaml').map((block) => yaml.load(block.code));

/** The settings of a container that matter for locks, whatever the file calls them. */
function toContainer({ user, directory, mounts }) {
  const mount = mounts.find(({ at }) => directory === at || directory.startsWith(`${at}/`));
  return { user, volume: mount?.volume, below: mount && path.posix.relative(mount.at, directory) };
}

test('two services of the Compose file see one directory, as one user', () => {
  const { services, volumes } = yamlFiles.find((file) => 'services' in file);
  const containers = Object.values(services).map(({ user, environment, volumes: mounted }) =>
    toContainer({
      user,
      directory: environment.HOLDFAST_DIR,
      mounts: mounted.map((text) => ({ volume: text.split(':')[0], at: text.split(':')[1] })),
    }),
  );
  const [first, ...others] = containers;
  expect(others.length).toBeGreaterThan(0);
  for (const other of others) expect(other).toEqual(first);
  expect(Object.keys(volumes)).toEqual([first.volume]);
});

test("the Compose file's volume belongs to the user of the services, to no other", () => {
  const { services, volumes } = yamlFiles.find((file) => 'services' in file);
  const options = volumes.locks.driver_opts;
  expect(options).toMatchObject({ type: 'tmpfs', device: 'tmpfs' });
  const given = Object.fromEntries(options.o.split(',').map((option) => option.split('=')));
  expect(given).toMatchObject({ uid: services.web.user, mode: '0700' });
});

test('two containers of the pod see one directory below a mount in memory, as one user', () => {
  const { spec } = yamlFiles.find((file) => 'spec' in file);
  const { runAsUser: user, fsGroup } = spec.securityContext;
  const [first, ...others] = spec.containers.map(({ env, volumeMounts }) =>
    toContainer({
      user,
      directory: env.find(({ name }) => name === 'HOLDFAST_DIR').value,
      mounts: volumeMounts.map(({ name, mountPath }) => ({ volume: name, at: mountPath })),
    }),
  );
  expect(others.length).toBeGreaterThan(0);
  for (const other of others) expect(other).toEqual(first);
  expect(first.below).not.toBe(''); // the mount itself belongs to root
  expect(fsGroup).toBe(user);
  const { emptyDir } = spec.volumes.find(({ name }) => name === first.volume);
  expect(emptyDir.medium).toBe('Memory');
});

describe('the page about several users', () => {
  const ofPage = (block) => block.file === 'docs/guides/several-users.md';
  const files = ofLanguage('yaml')
    .filter(ofPage)
    .map(({ code }) => yaml.load(code));

  test('the services of its Compose file are of different users, with the group of the volume', () => {
    const { services, volumes } = files.find((file) => 'services' in file);
    const users = Object.values(services).map(({ user }) => user);
    expect(new Set(users).size).toBe(users.length);
    const options = volumes.locks.driver_opts.o.split(',').map((option) => option.split('='));
    const { gid, mode, uid } = Object.fromEntries(options);
    expect({ mode, uid }).toEqual({ mode: '2770', uid: '0' });
    for (const { group_add: groups, environment, volumes: mounted } of Object.values(services)) {
      expect(groups).toEqual([gid]);
      expect(mounted).toEqual([`locks:${environment.HOLDFAST_DIR}`]);
    }
  });

  test('the containers of its pod are of different users, and root shares a directory first', () => {
    const { spec } = files.find((file) => 'spec' in file);
    const users = spec.containers.map(({ securityContext }) => securityContext.runAsUser);
    expect(new Set(users).size).toBe(users.length);
    const [{ command, securityContext, volumeMounts }] = spec.initContainers;
    expect(securityContext.runAsUser).toBe(0);
    const [, , , directory, , group] = command;
    expect(command).toEqual(['npx', 'holdfast', 'share', directory, '--group', group]);
    expect(Number(group)).toBe(spec.securityContext.fsGroup);
    expect(path.posix.dirname(directory)).toBe(volumeMounts[0].mountPath);
    for (const { env, volumeMounts: mounts } of spec.containers) {
      expect(env).toEqual([{ name: 'HOLDFAST_DIR', value: directory }]);
      expect(mounts).toEqual(volumeMounts);
    }
  });
});

describe('systemd units', () => {
  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
  let folder;
  beforeEach(() => (folder = mkdtempSync(path.join(os.tmpdir(), 'holdfast-units-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  // Skipped without systemd: nothing else knows its keys.
  (hasSystemd ? test : test.skip)('systemd knows every key of the blocks', () => {
    const [unit, ...additions] = ofLanguage('ini').map(({ code }) => code);
    const service = unit.replace('/usr/bin/node', process.execPath);
    writeFileSync(path.join(folder, 'myapp.service'), service);
    mkdirSync(path.join(folder, 'myapp.service.d'));
    additions.forEach((text, index) =>
      writeFileSync(path.join(folder, 'myapp.service.d', `${index}.conf`), text),
    );
    const env = { ...process.env, SYSTEMD_UNIT_PATH: `${folder}:` };
    const { stderr } = spawnSync('systemd-analyze', ['verify', 'myapp.service'], { env });
    expect(String(stderr)).not.toContain(folder);
  });
});

test.each(ofLanguage('sh').map((block) => [titleOf(block), block.code]))(
  '%s is what a shell can read',
  (_, code) => {
    expect(() => execFileSync('bash', ['-n'], { input: code, stdio: 'pipe' })).not.toThrow();
  },
);
