import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, it } from 'node:test';
import { cosigner, formatVerifierKey, parseVerifierKey } from '@tallystick/evidence';
import { run } from '../testing/command.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const KEY = ['--key', 'vectors/valid/log.key'];
const scratch = mkdtempSync(join(tmpdir(), 'tallystick-verify-'));
after(() => rmSync(scratch, { recursive: true }));

async function verify(...words: string[]) {
  const { code, stdout, stderr } = await run(['verify', ...words], { folder: ROOT });
  return { code, out: stdout, err: stderr };
}

describe('tallystick verify', () => {
  it('verifies a bundle and says what it saw', async () => {
    const { code, out, err } = await verify('vectors/valid/deleted-under-notices.jsonl', ...KEY);
    assert.equal(code, 0, err);
    assert.match(out, /^verified .*\n.*audit\.example\.com\/t\/acme\n/);
    assert.match(out, /5 with something deleted/);
    assert.match(out, /explained by notices at 10, 11/);
  });

  it('verifies a proof in both forms and shows the event', async () => {
    for (const file of ['vectors/valid/event-proof.json', 'vectors/valid/event-proof.txt']) {
      const { code, out, err } = await verify(file, ...KEY);
      assert.equal(code, 0, err);
      assert.match(out, /index 13/);
      assert.match(out, /"action": "Create\.Invoice"/);
    }
  });

  it('takes the key itself in place of a file', async () => {
    const key = readFileSync(join(ROOT, 'vectors/valid/log.key'), 'utf8').trim();
    assert.equal((await verify('vectors/valid/whole-log.jsonl', '--key', key)).code, 0);
  });

  it('answers JSON for programs', async () => {
    const good = await verify('vectors/valid/whole-log.jsonl', ...KEY, '--json');
    assert.deepEqual([good.code, (JSON.parse(good.out) as { entries: number }).entries], [0, 20]);
    const bad = await verify('vectors/invalid/leaf-mismatch/value-changed.jsonl', ...KEY, '--json');
    const { verified, reason, index } = JSON.parse(bad.out) as Record<string, unknown>;
    assert.deepEqual([bad.code, verified, reason, index], [1, false, 'LEAF_MISMATCH', 3]);
  });

  it('exits with 1 and names reason and index when it does not verify', async () => {
    const { code, out } = await verify('vectors/invalid/chain-broken/previous-changed.jsonl', ...KEY);
    assert.equal(code, 1);
    assert.match(out, /^NOT verified .*\n.*CHAIN_BROKEN at index 3\n/);
    assert.equal(
      (await verify('vectors/invalid/proof-invalid/event-proof-with-a-hash-less.json', ...KEY)).code,
      1,
    );
  });

  it('demands witnesses, an older checkpoint and openness when asked to', async () => {
    const witness = ['--witness', 'vectors/valid/witness.key'];
    const since = ['--since', 'vectors/valid/older-checkpoint'];
    const all = await verify(
      'vectors/valid/cosigned.jsonl',
      ...KEY,
      ...witness,
      ...since,
      '--nothing-withheld',
    );
    assert.equal(all.code, 0, all.out);
    assert.match(all.out, /witness\.example\.org\/w1/);
    assert.match(all.out, /extends the checkpoint of size 7/);
    assert.match((await verify('vectors/valid/whole-log.jsonl', ...KEY, ...witness)).out, /WITNESS_MISSING/);
    const withheld = await verify('vectors/valid/content-withheld.jsonl', ...KEY, '--nothing-withheld');
    assert.match(withheld.out, /GAP_UNEXPLAINED at index 0/);
  });

  it('gives for every invalid vector the reason that its folder names', async () => {
    for (const file of [
      'truncated/no-trailer.jsonl',
      'notice-invalid/event-as-a-notice.jsonl',
      'malformed/another-format.jsonl',
    ]) {
      const { code, out } = await verify(`vectors/invalid/${file}`, ...KEY, '--json');
      const reason = file.split('/')[0]!.toUpperCase().replaceAll('-', '_');
      assert.deepEqual([code, (JSON.parse(out) as { reason: string }).reason], [1, reason], file);
    }
  });

  it('says who asked for which filter when nothing may be withheld', async () => {
    const file = 'vectors/valid/filtered-and-complete.jsonl';
    assert.match((await verify(file, ...KEY, '--nothing-withheld')).out, /FILTER_UNPROVEN/);
    const filter = '[{"path":"/actor/userId","values":["\\"u-1\\""]}]';
    assert.equal((await verify(file, ...KEY, '--nothing-withheld', '--filter', filter)).code, 0);
  });

  it('lets no value of a file begin a line of its own', async () => {
    const file = join(scratch, 'fake.jsonl');
    const bundle = readFileSync(join(ROOT, 'vectors/valid/whole-log.jsonl'), 'utf8');
    writeFileSync(file, bundle.replace('"/payload/note"', '"/payload/x\\nverified  all is well"'));
    const { code, out } = await verify(file, ...KEY);
    assert.equal(code, 1);
    assert.doesNotMatch(out, /^verified/m);
  });

  it('shows nothing that would steer a terminal', async () => {
    const file = join(scratch, 'steering.json');
    writeFileSync(
      file,
      readFileSync(join(ROOT, 'vectors/valid/event-proof.json'), 'utf8').replace(
        '"eventId":"',
        '"eventId":"\u009b31m\u202e',
      ),
    );
    const { code, out } = await verify(file, ...KEY);
    assert.equal(code, 1);
    // oxlint-disable-next-line no-control-regex -- they are what is looked for
    assert.doesNotMatch(out, /[\u0080-\u009f\u202a-\u202e]/);
  });

  it('does not count one witness for two, under another name or with another key', async () => {
    const witness = readFileSync(join(ROOT, 'vectors/valid/witness.key'), 'utf8').trim();
    const { name, type, publicKey } = parseVerifierKey(witness);
    const renamed = formatVerifierKey({ name: `${name}-too`, type, publicKey });
    const rekeyed = (await cosigner(name, new Uint8Array(32).fill(5))).verifierKey;
    for (const other of [witness, renamed, rekeyed]) {
      const two = ['--witness', witness, '--witness', other, '--witnesses-min', '1'];
      const { code, err } = await verify('vectors/valid/cosigned.jsonl', ...KEY, ...two);
      assert.deepEqual([code, /--witness is given twice/.test(err)], [2, true], err);
    }
  });

  it('demands the quorum of a policy, which may name the log too', async () => {
    const [log, w1] = ['log', 'witness'].map((name) =>
      readFileSync(join(ROOT, `vectors/valid/${name}.key`), 'utf8').trim(),
    );
    const w2 = (await cosigner('other.example/w', new Uint8Array(32).fill(5))).verifierKey;
    const policy = (name: string, text: string) => {
      const file = join(scratch, name);
      writeFileSync(file, text);
      return ['--policy', file];
    };
    const both = `witness one ${w1}\nwitness two ${w2} https://other.example/\n`;
    const any = policy('any', `${both}group g any one two\nquorum g\n`);
    const all = policy('all', `${both}group g all one two\nquorum g\n`);
    const withLog = policy('with-log', `log ${log}\nwitness one ${w1}\nquorum one\n`);
    const cosigned = 'vectors/valid/cosigned.jsonl';
    const met = await verify(cosigned, ...KEY, ...any);
    assert.deepEqual([met.code, /witnesses +witness\.example\.org\/w1/.test(met.out)], [0, true], met.err);
    assert.equal((await verify(cosigned, ...withLog)).code, 0);
    const unmet = await verify(cosigned, ...KEY, ...all);
    assert.deepEqual(
      [unmet.code, /WITNESS_MISSING[\s\S]*one cosigned; that is not/.test(unmet.out)],
      [1, true],
    );
    for (const file of ['vectors/valid/whole-log.jsonl', 'vectors/valid/event-proof.json']) {
      assert.match((await verify(file, ...KEY, ...any)).out, /WITNESS_MISSING/, file);
    }
    const cannotRun: [string[], RegExp][] = [
      [[...KEY, ...policy('wrong', 'quorum one\n')], /is no policy: line 1: "one" is no witness/],
      [[...KEY, '--policy', join(scratch, 'nowhere')], /no such file/],
      [[...KEY, ...any, '--witness', w1!], /--policy and --witness are both given/],
      [any, /--key is missing/],
    ];
    for (const [words, expected] of cannotRun) {
      const { code, err } = await verify(cosigned, ...words);
      assert.equal(code, 2, err);
      assert.match(err, expected);
    }
  });

  it('exits with 2 and one line when it could not run', async () => {
    const empty = join(scratch, 'no.key');
    writeFileSync(empty, 'nothing\n');
    const [binary, control, prose] = ['binary.key', 'control.key', 'prose.key'].map((name) =>
      join(scratch, name),
    );
    writeFileSync(binary!, Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0xff, 0xfe, 0));
    writeFileSync(control!, 'abc\u0000\u0001\n\u001b[31m\n');
    writeFileSync(prose!, 'The key is below.\n\n\n');
    const cases: [string[], RegExp][] = [
      [['vectors/valid/whole-log.jsonl'], /--key is missing/],
      [['nowhere.jsonl', ...KEY], /cannot read nowhere\.jsonl: no such file/],
      [['nowhere.jsonl'], /cannot read nowhere\.jsonl: no such file/],
      [['ftp://x/y', ...KEY], /ftp:\/\/x\/y is an address of an unknown kind: .* https:\/\//],
      [['vectors/invalid/truncated/empty-file.jsonl', ...KEY], /empty-file\.jsonl is empty\n$/],
      [['vectors', ...KEY], /is a directory/],
      [['README.md', ...KEY], /neither a bundle nor a proof/],
      [['vectors/valid/whole-log.jsonl', ...KEY, ...KEY], /--key is given twice/],
      [['vectors/valid/whole-log.jsonl', ...KEY, '--witnesses-min', '1'], /no --witness/],
      [['vectors/valid/whole-log.jsonl', '--key', empty], /no\.key, line 1, is no usable key: "nothing"/],
      [['vectors/valid/whole-log.jsonl', '--key', binary!], /binary\.key is no text, so it holds no key\n$/],
      [
        ['vectors/valid/whole-log.jsonl', '--key', control!],
        /control\.key is no text, so it holds no key\n$/,
      ],
      [
        ['vectors/valid/whole-log.jsonl', '--key', prose!],
        /prose\.key, line 1, is no usable key: "The key is/,
      ],
      [['vectors/valid/whole-log.jsonl', '--key', 'vectors'], /cannot read vectors: it is a directory/],
      [['vectors/valid/whole-log.jsonl', ...KEY, '--since', binary!], /binary\.key is no text\n$/],
      [['vectors/valid/whole-log.jsonl', '--key', 'vectors/valid/witness.key'], /is no usable key/],
      [['vectors/valid/whole-log.jsonl', ...KEY, '--since', empty], /is no checkpoint/],
      [
        [
          'vectors/valid/cosigned.jsonl',
          ...KEY,
          '--witness',
          'vectors/valid/witness.key',
          '--witnesses-min',
          '2',
        ],
        /it is 1 to 1/,
      ],
    ];
    for (const [words, message] of cases) {
      const { code, out, err } = await verify(...words);
      assert.deepEqual([code, out], [2, ''], words.join(' '));
      assert.match(err, message);
      assert.equal(err.trim().split('\n').length, 1);
    }
  });
});
