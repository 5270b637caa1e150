// What `tallystick verify` is handed: a file, a pipe, standard input, or something that is no evidence at all.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, it } from 'node:test';
import { LAUNCHER, run } from '../testing/command.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const KEY = ['--key', join(ROOT, 'vectors/valid/log.key')];
const BUNDLE = join(ROOT, 'vectors/valid/whole-log.jsonl');
const PROOF = join(ROOT, 'vectors/valid/event-proof.json');
const PROOF_BYTES_MAX = 8 * 1_048_576;
const scratch = mkdtempSync(join(tmpdir(), 'tallystick-verify-input-'));
after(() => rmSync(scratch, { recursive: true }));

/** Only a process of its own has a standard input. */
async function verify(words: readonly string[], input?: string | Buffer) {
  const args = ['verify', ...words];
  if (input === undefined) {
    const { code, stdout, stderr } = await run(args);
    return { code, out: stdout, err: stderr };
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--conditions=source', LAUNCHER, ...args], {
    input,
  });
  return { code: status, out: stdout.toString(), err: stderr.toString() };
}

function written(name: string, text: string): string {
  const file = join(scratch, name);
  writeFileSync(file, text);
  return file;
}

describe('tallystick verify', () => {
  it('reads a bundle and a proof from standard input', async () => {
    for (const [file, expected] of [
      [BUNDLE, /^verified {2}standard input\n[\s\S]*none left out/],
      [PROOF, /^verified {2}standard input\n[\s\S]*"action": "Create\.Invoice"/],
      [join(ROOT, 'vectors/valid/event-proof.txt'), /^verified {2}standard input\n[\s\S]*index 13/],
    ] as const) {
      const { code, out, err } = await verify(['-', ...KEY], readFileSync(file));
      assert.deepEqual([code, err], [0, ''], file);
      assert.match(out, expected);
    }
    const changed = readFileSync(join(ROOT, 'vectors/invalid/leaf-mismatch/value-changed.jsonl'));
    const refused = await verify(['-', ...KEY], changed);
    assert.equal(refused.code, 1);
    assert.match(refused.out, /^NOT verified {2}standard input\n.*LEAF_MISMATCH at index 3\n/);
  });

  it('reads a pipe that has a name, too', () => {
    const piped = spawnSync('bash', [
      '-c',
      'exec "$0" --conditions=source "$1" verify <(cat "$2") --key "$3"',
      process.execPath,
      LAUNCHER,
      BUNDLE,
      KEY[1]!,
    ]);
    assert.equal(piped.status, 0, piped.stderr.toString());
  });

  it('says of standard input what it says of a file that is no evidence', async () => {
    const cases: [string | Buffer, RegExp][] = [
      ['', /^tallystick: standard input is empty\n$/],
      ['# A page\n', /^tallystick: standard input is neither a bundle nor a proof\n$/],
      [Buffer.from([0x7b, 0xff, 0xfe]), /^tallystick: standard input is no text\n$/],
      [
        `{${' '.repeat(PROOF_BYTES_MAX)}`,
        /^tallystick: standard input is over 8388608 bytes, which is more than any proof has\n$/,
      ],
    ];
    for (const [input, expected] of cases) {
      const { code, out, err } = await verify(['-', ...KEY], input);
      assert.deepEqual([code, out], [2, '']);
      assert.match(err, expected);
    }
  });

  it('knows an error answer that was saved in the place of a proof or a bundle', async () => {
    const error = { code: 'EVENT_NOT_FOUND', message: 'There is no such event.', details: [], traceId: 'x' };
    const expected = 'an error answer of the service: EVENT_NOT_FOUND: There is no such event.\n';
    for (const text of [JSON.stringify({ error }), JSON.stringify({ error }, null, 2)]) {
      const file = written('saved.json', text);
      // Also before a key is asked for, which would not help.
      for (const words of [[file, ...KEY], [file], [file, ...KEY, '--json']]) {
        assert.deepEqual(await verify(words), {
          code: 2,
          out: '',
          err: `tallystick: ${file} is ${expected}`,
        });
      }
      assert.equal((await verify(['-', ...KEY], text)).err, `tallystick: standard input is ${expected}`);
    }
  });

  it('takes for no error answer what only looks like one', async () => {
    for (const text of ['{"error":"no"}', '{"error":{"code":5}}', '{"error"', '{"x":1}']) {
      const { code, out } = await verify([written('other.json', text), ...KEY]);
      assert.deepEqual([code, /^NOT verified .*\n.*MALFORMED/.test(out)], [1, true], text);
    }
  });

  it('says of a key that is neither a key nor a file just that', async () => {
    const cases: [string[], string][] = [
      [['--key', 'audit.example.com/t/acme+1234+AAAA'], '--key'],
      [['--key', 'nowhere.key'], '--key'],
      [['--key', 'x'.repeat(5000)], '--key'],
      [[...KEY, '--witness', 'nowhere.key'], '--witness'],
    ];
    for (const [words, option] of cases) {
      const { code, out, err } = await verify([BUNDLE, ...words]);
      assert.deepEqual([code, out], [2, '']);
      const given = JSON.stringify(words.at(-1)!.slice(0, 120));
      assert.equal(
        err,
        `tallystick: ${option} is ${given}, which is neither a key (<name>+<id>+<base64>) nor a file that is there\n`,
      );
    }
  });

  it('takes --verbose for stored data alone', async () => {
    const { code, err } = await verify([BUNDLE, ...KEY, '--verbose']);
    assert.deepEqual([code, err], [2, 'tallystick: --verbose is for a data directory or a database\n']);
  });
});
