// The README's commands, run as they are printed: the service is started, the requests are sent, the files are
// verified. Only the port differs, and what npm ci does has been done by whoever runs this test.

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readText, ROOT } from './source.ts';

const ADDRESS = 'http://127.0.0.1:8080';
const READY_MS = 20_000;

const commands = [...readText('README.md').matchAll(/```sh\n([\s\S]*?)```/g)].flatMap((block) =>
  block[1]!.trim().split('\n'),
);

/** Starts the service on a free port and resolves with its address once it says that it is ready. */
async function start(command: string, dataDirectory: string) {
  const env = { ...process.env, Server__Port: '0', Storage__DataDirectory: dataDirectory };
  const child = spawn('sh', ['-c', `exec ${command}`], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    const address = /address\s+(http:\S+)/.exec(said)?.[1];
    if (address !== undefined) resolve(address);
  });
  child.once('exit', (code) => reject(new Error(`exited with ${code} before it was ready: ${said}`)));
  const timer = setTimeout(() => reject(new Error(`not ready after ${READY_MS} ms: ${said}`)), READY_MS);
  try {
    return { child, address: await promise };
  } finally {
    clearTimeout(timer);
  }
}

describe("the README's quick start", () => {
  it('is one command to start it, and the rest works against it', async () => {
    const [first, ...rest] = commands;
    assert.equal(first, 'npm ci && npm start');
    const dataDirectory = mkdtempSync(join(tmpdir(), 'tallystick-readme-'));
    const { child, address } = await start('npm start --silent', dataDirectory);
    try {
      for (const command of rest) {
        const said = execFileSync('bash', ['-ec', command.replaceAll(ADDRESS, address)], {
          cwd: ROOT,
          encoding: 'utf8',
        });
        assert.match(said, command.startsWith('curl') ? /"status":"Healthy"/ : /^verified /, command);
      }
    } finally {
      const stopped = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      assert.equal(await stopped, 0);
      rmSync(dataDirectory, { recursive: true, force: true });
    }
    assert.ok(rest.length >= 2);
  });

  it('prints what the command prints, for a good file and for a changed one', () => {
    const [good, changed] = [
      ...readText('README.md').matchAll(/```\n((?:verified|NOT verified)[\s\S]*?)```/g),
    ];
    const folder = mkdtempSync(join(tmpdir(), 'tallystick-readme-'));
    const copy = join(folder, 'changed.jsonl');
    writeFileSync(copy, readText('vectors/valid/whole-log.jsonl').replace('payment 7', 'payment 8'));
    assert.equal(verify('vectors/valid/whole-log.jsonl'), good![1]);
    assert.equal(verify(copy).replace(copy, 'changed.jsonl'), changed![1]);
    rmSync(folder, { recursive: true });
  });
});

function verify(file: string): string {
  const launcher = join(ROOT, 'packages/cli/bin/tallystick.js');
  const words = ['--conditions=source', launcher, 'verify', file, '--key', 'vectors/valid/log.key'];
  return spawnSync(process.execPath, words, { cwd: ROOT, encoding: 'utf8' }).stdout;
}
