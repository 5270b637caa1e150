// Bundles made by the real command beside a real service, and verified by the real command without it.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import type { Ended } from '../testing/command.ts';
import { emptyPlace, type Place } from '../testing/place.ts';
import { ADMIN_KEY, type RunningLog, startLog, startProxy, TENANT } from '../testing/running-log.ts';

interface Stream {
  readonly streamId: string;
  readonly status: string;
}

describe('tallystick bundle', () => {
  let place: Place;
  let log: RunningLog;
  before(async () => {
    place = emptyPlace();
    log = await startLog(place);
    await log.send(256);
    await log.seal();
    await log.send(3);
  });
  after(async () => {
    await log[Symbol.asyncDispose]();
    place[Symbol.dispose]();
  });

  const out = (name: string) => join(place.folder, name);
  const bundle = (...args: string[]) => place.run(['bundle', '--tenant', TENANT, ...args]);
  /** The verdict on a bundle, by the command that was printed for it. */
  const verifyAsPrinted = async ({ code, stdout, stderr }: Ended) => {
    assert.equal(code, 0, stderr);
    const [, file, key] = /^ {2}verify {5}tallystick verify (\S+) --key '(\S+)'$/m.exec(stdout) ?? [];
    const verified = await place.run(['verify', file!, '--key', key!, '--nothing-withheld', '--json']);
    const { verified: isVerified, reason, from, to } = JSON.parse(verified.stdout) as Record<string, unknown>;
    return { isVerified, reason, from, to };
  };

  it('makes a bundle of the log, of a stream or of a part while the service runs, which verifies as printed', async () => {
    const { data } = JSON.parse(await log.get('event-streams')) as { data: Stream[] };
    const { streamId } = data.find(({ status }) => status === 'Sealed')!;
    const made = await Promise.all([
      bundle('--out', out('all.jsonl')),
      bundle('--stream', streamId, '--out', out('stream.jsonl'), '--checkpoint-wait'),
      bundle('--from', '255', '--to', '258', '--out', out('part.jsonl')),
    ]);
    const verdicts = await Promise.all(made.map(verifyAsPrinted));
    const verified = { isVerified: true, reason: undefined };
    assert.deepEqual(verdicts, [
      { ...verified, from: 0, to: 260 },
      { ...verified, from: 0, to: 257 },
      { ...verified, from: 254, to: 258 },
    ]);
    // The interface counts by sequence from 1, verifiers by index from 0: both are said, each by its name.
    assert.match(
      made[2].stdout,
      /events +sequence 255 to 258 of the tenant: index 254 to 257 of a log of 260\n/,
    );
    assert.equal(statSync(out('all.jsonl')).mode & 0o777, 0o600);
    assert.deepEqual(
      readdirSync(place.folder).filter((name) => name.endsWith('.part')),
      [],
    );
  });

  it('withholds context and payload if asked to, and says so to a caller that may see all', async () => {
    const verdict = await verifyAsPrinted(await bundle('--withhold-content', '--out', out('withheld.jsonl')));
    assert.deepEqual([verdict.isVerified, verdict.reason], [false, 'GAP_UNEXPLAINED']);
  });

  it('refuses what it does not understand with exit code 2, and touches nothing', async () => {
    mkdirSync(out('there'), { recursive: true });
    writeFileSync(out('there.jsonl'), 'mine');
    const refusals = await Promise.all([
      bundle('--from', '0'),
      bundle('--from', '3', '--to', '2'),
      bundle('--stream', 'x'),
      bundle('--out', out('there.jsonl')),
      bundle('--out', out('nowhere/x.jsonl')),
      place.run(['bundle', '--tenant', TENANT], { Storage__DataDirectory: out('there') }),
      place.run(['bundle', '--tenant', 'nobody']),
      place.run(['bundle', '--tenant', 'nobody', '--stream', '01KE0000000000000000000001']),
    ]);
    for (const [i, says] of [
      /--from is "0"; it is a sequence/,
      /--from is 3, behind --to/,
      /a stream id is 26 characters/,
      /is there already/,
      /the directory \S+nowhere does not exist\n/,
      /there is no data in/,
      /there is no tenant nobody\n/,
      /there is no tenant nobody\n/,
    ].entries()) {
      assert.match(refusals[i]!.stderr, says);
      assert.equal(refusals[i]!.code, 2);
    }
    assert.deepEqual(readdirSync(out('there')), []);
  });

  it('says with exit code 1 what cannot be had', async () => {
    const failures = await Promise.all([
      bundle('--to', '300'),
      bundle('--stream', '01KE0000000000000000000001'),
    ]);
    assert.deepEqual(
      failures.map(({ code, stderr }) => [code, stderr.split('\n').length]),
      [
        [1, 2],
        [1, 2],
      ],
    );
  });

  it('hands over nothing that does not verify', async () => {
    using other = emptyPlace();
    {
      await using running = await startLog(other);
      await running.send(3);
    }
    using db = new DatabaseSync(join(other.data, 'journal.db'));
    db.exec(
      `UPDATE contents SET text1 = CAST(replace(text1, 'Delete.Invoice', 'Create.Invoice') AS BLOB) WHERE id = 3`,
    );
    const file = join(other.folder, 'x.jsonl');
    const { code, stdout, stderr } = await other.run(['bundle', '--tenant', TENANT, '--out', file]);
    assert.deepEqual([code, stdout, existsSync(file)], [1, '', false]);
    assert.match(stderr, /does not verify \(LEAF_MISMATCH: .*entry 1 .*tallystick verify <data directory>/);
    assert.deepEqual(readdirSync(other.folder), ['data']);
  });

  it('and tallystick verify <url> give the same verdicts by their exit codes', async () => {
    await using proxy = await startProxy(log.url);
    const env = { TALLYSTICK_API_KEY: ADMIN_KEY };
    const verify = (more: Readonly<Record<string, string>>, ...args: string[]) =>
      place.run(['verify', proxy.url, '--tenant', TENANT, '--state', out('state'), ...args], more);
    const first = await verify(env, '--pin-first-key', '--entries');
    assert.equal(first.code, 0, first.stderr);
    assert.match(first.stdout, /^verified {2}http.*\n[^]*all 260 read, 1 of them a notice, with 3 tiles/);
    assert.match(first.stdout, /TAKEN FROM THE SERVICE ITSELF/);
    proxy.lie = (path, bytes) =>
      path.includes('/tile/0/') ? Buffer.from(bytes.map((byte) => byte ^ 1)) : undefined;
    const [lied, unknown, misused] = await Promise.all([
      verify(env, '--json'),
      verify({ TALLYSTICK_API_KEY: '' }),
      verify(env, '--filter', 'null'),
    ]);
    assert.deepEqual([lied.code, unknown.code, misused.code], [1, 2, 2]);
    assert.equal((JSON.parse(lied.stdout) as { reason: string }).reason, 'ROOT_MISMATCH');
    assert.match(unknown.stderr, /answers 401 .*\n$/);
    assert.match(misused.stderr, /--filter is not for the address of a log/);
  });
});
