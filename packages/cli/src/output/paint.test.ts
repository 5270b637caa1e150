// Colour, and where there is none.

import assert from 'node:assert/strict';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { run } from '../testing/command.ts';
import { noTerminal, runOnTerminal } from '../testing/terminal.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const vector = (name: string) => join(ROOT, 'vectors', name);
const KEY = ['--key', vector('valid/log.key')];
const VERIFIED = ['verify', vector('valid/whole-log.jsonl'), ...KEY];
const NOT_VERIFIED = ['verify', vector('invalid/chain-broken/previous-changed.jsonl'), ...KEY];
const WRONG = ['verify', 'nowhere', ...KEY];

test('on a terminal verdicts, errors and headings are coloured', { skip: noTerminal }, () => {
  const cases: [args: string[], start: string][] = [
    [VERIFIED, `\u001b[32mverified\u001b[39m  ${VERIFIED[1]}\n`],
    [NOT_VERIFIED, `\u001b[31mNOT verified\u001b[39m  ${NOT_VERIFIED[1]}\n`],
    [WRONG, '\u001b[31mtallystick:\u001b[39m cannot read nowhere: no such file\n'],
    [['serve', '--fast'], "\u001b[31mtallystick:\u001b[39m unknown option '--fast' "],
    [['config', '--help'], '\u001b[1mUsage:\u001b[22m tallystick config'],
  ];
  for (const [args, start] of cases) {
    const { shown } = runOnTerminal(args);
    assert.ok(shown.startsWith(start), JSON.stringify(shown));
  }
});

test('pipes, NO_COLOR, dumb terminals and --json get plain text, the same as ever', async () => {
  for (const args of [NOT_VERIFIED, WRONG, ['config', '--help']]) {
    const piped = await run(args);
    const plain = piped.stdout + piped.stderr;
    assert.ok(!plain.includes('\u001b'), plain);
    const forced = await run(args, { env: { FORCE_COLOR: '1' } });
    assert.equal(forced.stdout + forced.stderr, plain, 'a pipe stays a pipe');
    if (noTerminal) continue;
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      assert.deepEqual(runOnTerminal(args, { env }), { code: piped.code, shown: plain }, JSON.stringify(env));
    }
  }
  if (noTerminal) return;
  const json = runOnTerminal([...VERIFIED, '--json']);
  assert.equal((JSON.parse(json.shown) as { verified: boolean }).verified, true);
});
