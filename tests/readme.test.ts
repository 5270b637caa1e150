// The README's commands, run as they are printed: the service is started, an event is sent, the files are verified.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { shellBlocks, startByCommand } from './shell-blocks.ts';
import { readText, ROOT } from './source.ts';

describe("the README's quick start", () => {
  it('is one command to start it, and the rest works against it', async () => {
    const [first, ...rest] = shellBlocks('README.md');
    assert.equal(first, 'npm ci && npm start');
    await using service = await startByCommand('npm start --silent');
    const [sent, verified] = service.run(rest);
    assert.match(sent!, /"status":"Accepted"/);
    assert.match(verified!, /^verified /m);
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
