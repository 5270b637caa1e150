import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EvidenceError } from '../errors.ts';
import type { Manifest } from './manifest.ts';
import { type ChainedFile, verifyChain } from './verify-chain.ts';

const hashOf = (number: number) => String(number).repeat(64).slice(0, 64);

function file(number: number, changes: Partial<Manifest> = {}): ChainedFile {
  const manifest = {
    origin: 'audit.example.com/t/acme',
    tenantId: 'acme',
    range: { firstIndex: 0, from: (number - 1) * 10, to: number * 10, complete: true },
    schedule: { scheduleId: 'S', number, previous: number === 1 ? null : hashOf(number - 1) },
    ...changes,
  } as Manifest;
  return { name: `${number}.zip`, manifest, sha256: hashOf(number) };
}

function refusal(...files: ChainedFile[]): [string, string] {
  try {
    verifyChain(files);
  } catch (error) {
    if (error instanceof EvidenceError) return [error.reason, error.message];
    throw error;
  }
  return ['', ''];
}

test('files in any order are a chain, also where the first ones are not there', () => {
  const verdict = verifyChain([file(3), file(1), file(2)]);
  assert.deepEqual(verdict, {
    scheduleId: 'S',
    first: 1,
    last: 3,
    fromSequence: 1,
    toSequence: 30,
    complete: true,
  });
  const later = verifyChain([file(5), file(4)]);
  assert.deepEqual([later.first, later.fromSequence], [4, 31]);
});

test('a file that is missing, twice there, or of another chain is named', () => {
  assert.deepEqual(refusal(file(1), file(3)), ['CHAIN_BROKEN', 'file 2 is missing between 1.zip and 3.zip']);
  assert.deepEqual(refusal(file(1), file(5)), [
    'CHAIN_BROKEN',
    'files 2 to 4 are missing between 1.zip and 5.zip',
  ]);
  assert.equal(refusal(file(1), file(1))[0], 'CHAIN_BROKEN');
  const other = file(2, { schedule: { scheduleId: 'S', number: 2, previous: hashOf(7) } });
  assert.deepEqual(refusal(file(1), other), [
    'CHAIN_BROKEN',
    '2.zip names another file before it than 1.zip',
  ]);
  const late = file(2, { range: { firstIndex: 0, from: 11, to: 20, complete: true } });
  assert.deepEqual(refusal(file(1), late), [
    'CHAIN_BROKEN',
    '2.zip begins with sequence 12, and 1.zip ends with 10',
  ]);
  const foreign = file(2, { schedule: { scheduleId: 'T', number: 2, previous: hashOf(1) } });
  assert.equal(refusal(file(1), foreign)[0], 'ORIGIN_MISMATCH');
  assert.equal(refusal()[0], 'MALFORMED');
});

test('after a restore a file may begin anywhere', () => {
  const restored = file(2, {
    origin: 'audit.example.com/t/acme/1',
    range: { firstIndex: 7, from: 1, to: 5, complete: false },
  });
  assert.deepEqual(verifyChain([file(1), restored]).complete, false);
});
