// The command line itself, and the launcher in front of it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { LAUNCHER, run, serve } from './testing/command.ts';

test('help lists the commands', async () => {
  const { code, stdout } = await run(['--help']);
  assert.equal(code, 0);
  assert.match(
    stdout,
    /^Usage: tallystick \[options\] \[command\]\n\nA multi-tenant, tamper-evident audit trail\.\n/,
  );
  for (const command of ['serve', 'config']) assert.match(stdout, new RegExp(`^ {2}${command} `, 'm'));
  const help = await run(['serve', '--help']);
  assert.match(help.stdout, /-c, --config <file>/);
});

test('the version is printed', async () => {
  const { code, stdout } = await run(['--version']);
  assert.equal(code, 0);
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
});

test('a command line that is not understood is exit code 2, on standard error', async () => {
  for (const args of [['fly'], ['serve', '--fast'], ['serve', 'now'], ['config', '--config'], []]) {
    const { code, stdout, stderr } = await run(args);
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' }, args.join(' '));
    assert.match(stderr, /tallystick/, args.join(' '));
  }
});

test('the launcher finds the sources by itself, and passes on signals and the exit code', async () => {
  await using service = await serve({ flags: [] });
  assert.equal((await fetch(`http://127.0.0.1:${service.port}/health/live`)).status, 200);
  service.child.kill('SIGTERM');
  const { code, signal } = await service.ended;
  assert.deepEqual({ code, signal }, { code: 0, signal: null });
  assert.equal((await run(['config'], { flags: [], env: { Server__Port: 'x' } })).code, 2);
});

test('the service does not outlive its launcher, however that ends', async () => {
  await using service = await serve({ flags: [] });
  service.child.kill('SIGKILL');
  // Both write to it, so it ends with the last one.
  const { signal, stderr } = await service.ended;
  assert.equal(signal, 'SIGKILL');
  assert.match(stderr, /"message":"stopped"/);
});

test('what is compiled is kept for threads as for the command itself', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-launcher-'));
  for (const name of ['bin', 'dist']) mkdirSync(join(folder, name));
  const launcher = join(folder, 'bin/tallystick.mjs');
  copyFileSync(LAUNCHER, launcher);
  writeFileSync(
    join(folder, 'dist/main.js'),
    `const { getCompileCacheDir } = require('node:module');
     const { isMainThread, Worker } = require('node:worker_threads');
     if (isMainThread) new Worker(__filename);
     console.log(getCompileCacheDir());`,
  );
  const env = { TMPDIR: folder, NODE_COMPILE_CACHE: '' };
  const { code, stdout } = await run([], { launcher, env });
  rmSync(folder, { recursive: true });
  const [command, thread] = stdout.trimEnd().split('\n');
  assert.deepEqual({ code, thread }, { code: 0, thread: command });
  assert.ok(command!.startsWith(folder), command);
});

/** A Node older than 24 in the path, if there is one. */
function olderNode(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders
    .map((folder) => join(folder, 'node'))
    .find((node) => {
      const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
      const major = Number(/^v(\d+)\./.exec(stdout ?? '')?.[1]);
      return major >= 18 && major < 24;
    });
}

const older = olderNode();
const noOlder = older === undefined && 'there is no Node older than 24 in the path';
const bundled = join(import.meta.dirname, `../../../node_modules/node-${process.platform}-${process.arch}`);
const noBundled = !existsSync(bundled) && 'the repository brings no Node for this platform';

test('on an older Node the launcher uses the one that came with the repository', {
  skip: noOlder || noBundled,
}, async () => {
  const { code, stdout, stderr } = await run(['--version'], { node: older!, flags: [] });
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
});

test('on an older Node with nothing else at hand it says what is missing', { skip: noOlder }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-launcher-'));
  mkdirSync(join(folder, 'bin'));
  const launcher = join(folder, 'bin/tallystick.mjs');
  copyFileSync(LAUNCHER, launcher);
  const { code, stdout, stderr } = await run(['serve'], { node: older!, flags: [], launcher });
  rmSync(folder, { recursive: true });
  assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
  assert.match(stderr, /^tallystick: needs Node 24 or later; this is v\d+\.\d+\.\d+\n$/);
});
