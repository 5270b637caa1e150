// A log, its witnesses and a reader: the client of the service asks real witnesses, and what comes back verifies by the
// policy. And what docs/formats/witness.md shows is what the code writes.

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  cosigner,
  EvidenceError,
  formatAddCheckpoint,
  leafHash,
  nodeHash,
  noteSigner,
  noteVerifier,
  parseCheckpoint,
  parseNote,
  parsePolicy,
  proveConsistency,
  sha256,
  signatureLine,
  signCheckpoint,
  treeRoot,
  verifyByPolicy,
} from '@tallystick/evidence';
import { startWitness, witnessFolder } from '../packages/cli/src/testing/running-witness.ts';
import { type SampleLog, sampleLog } from '../packages/cli/src/testing/sample-log.ts';
import { originHash } from '../packages/cli/src/witness/heads.ts';
import { anyAddress, loopbackOnly } from '../packages/server/src/outbound/http/address-rules.ts';
import { createOutboundHttp } from '../packages/server/src/outbound/http/guarded-http.ts';
import { collectCosignatures } from '../packages/server/src/outbound/witness.ts';
import { isAlarm } from '../packages/server/src/streams/witness/ask-witnesses.ts';
import { systemClock } from '../packages/server/src/runtime/clock.ts';
import { readText } from './source.ts';

const http = createOutboundHttp({ clock: systemClock, https: anyAddress, http: loopbackOnly });
after(() => http[Symbol.dispose]());

const PREFIX = 'audit.example.com/t/';
const acme = await sampleLog(`${PREFIX}acme`);
const globex = await sampleLog(`${PREFIX}globex`);
const BELOW = ['--logs-below', PREFIX, acme.verifierKey];

describe('a log and its witnesses', () => {
  it('two real witnesses cosign every tenant; one that is away costs its cosignature; a rollback and a fork are alarms', async () => {
    using firstFolder = witnessFolder();
    using secondFolder = witnessFolder();
    await using first = await startWitness(firstFolder.path, BELOW);
    const second = await startWitness(secondFolder.path, BELOW, { name: 'witness.example.net/w2' });
    const policyOf = (quorum: string) =>
      parsePolicy(
        `witness one ${first.verifierKey} ${first.url}\nwitness two ${second.verifierKey} ${second.url}/\ngroup both ${quorum} one two\nquorum both\n`,
      );
    const [all, any] = [await policyOf('all'), await policyOf('any')];
    const sizes = new Map<string, number>();
    const collect = async (log: SampleLog, size: number, policy = all) =>
      collectCosignatures({
        note: await log.note(size),
        prove: async (oldSize) => log.prove(oldSize, size),
        policy,
        http,
        clock: systemClock,
        sizes,
        lateMs: 5000,
      });

    for (const [log, size] of [
      [acme, 5],
      [globex, 2],
      [acme, 9],
      [acme, 9],
      [globex, 64],
    ] as const) {
      const { note, isQuorum, reports } = await collect(log, size);
      assert.deepEqual([isQuorum, reports.filter(isAlarm)], [true, []]);
      const verdict = await verifyByPolicy(all, note, [await noteVerifier(log.verifierKey)]);
      assert.deepEqual(
        verdict.cosignatures.map(({ witness }) => witness),
        ['one', 'two'],
      );
      assert.equal(verdict.checkpoint.size, size);
    }

    const rolledBack = await collect(acme, 7);
    assert.deepEqual(
      rolledBack.reports.filter(isAlarm).map(({ outcome, size }) => [outcome, size]),
      [
        ['Ahead', 9],
        ['Ahead', 9],
      ],
    );
    const fork = await sampleLog(`${PREFIX}acme`, { label: 'another history' });
    for (const size of [9, 12]) {
      const forked = await collect(fork, size);
      assert.deepEqual(
        forked.reports.filter(isAlarm).map(({ outcome }) => outcome),
        ['Inconsistent', 'Inconsistent'],
      );
      assert.deepEqual([forked.isQuorum, forked.note], [false, await fork.note(size)]);
    }

    await second[Symbol.asyncDispose]();
    const unmet = await collect(acme, 12);
    assert.deepEqual(
      unmet.reports.map(({ outcome }) => outcome),
      ['Cosigned', 'Unreachable'],
    );
    assert.equal(unmet.isQuorum, false);
    await assert.rejects(
      verifyByPolicy(all, unmet.note, [await noteVerifier(acme.verifierKey)]),
      (error: unknown) => error instanceof EvidenceError && error.reason === 'WITNESS_MISSING',
    );
    assert.equal((await collect(acme, 13, any)).isQuorum, true);
    const shown = await first.checkpoint(acme.origin);
    assert.equal(parseCheckpoint(parseNote(shown!).text).size, 13);
  });
});

describe('docs/formats/witness.md', () => {
  it('shows the request, the answer, the address and a policy of its example', async () => {
    const utf8 = (text: string) => new TextEncoder().encode(text);
    const leaves = [...'abcdefg'].map((entry) => leafHash(utf8(entry)));
    const read = (level: number, index: number): Uint8Array =>
      level === 0 ? leaves[index]! : nodeHash(read(level - 1, 2 * index), read(level - 1, 2 * index + 1));
    const signer = await noteSigner(acme.origin, sha256(utf8('audit-trail test log key')));
    const witness = await cosigner('witness.example.com/w1', sha256(utf8('audit-trail test witness key')));
    const note = await signCheckpoint({ origin: signer.name, size: 7, root: treeRoot(7, read) }, [signer]);
    const proof = proveConsistency(3, 7, read);
    const line = signatureLine(await witness.cosign(parseNote(note).text, 1767323100));
    const blocks = [...readText('docs/formats/witness.md').matchAll(/```\n([\s\S]*?)```/g)].map(
      (block) => block[1]!,
    );
    assert.ok(blocks.includes(formatAddCheckpoint({ oldSize: 3, proof, note })), 'the request');
    assert.ok(blocks.includes(line), 'the answer');
    assert.ok(readText('docs/formats/witness.md').includes(`/${originHash(signer.name)}/checkpoint`));
    const verdict = await verifyByPolicy(await parsePolicy(blocks.at(-1)!), note + line);
    assert.deepEqual(verdict.cosignatures, [{ witness: 'w1', timeSeconds: 1767323100 }]);
  });
});
