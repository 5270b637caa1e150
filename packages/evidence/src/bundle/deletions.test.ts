import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EvidenceError } from '../errors.ts';
import { type Entry, KINDS } from '../event/entry.ts';
import type { Notice } from '../event/notices.ts';
import { Deletions } from './deletions.ts';

const EVENT_ID = '01KE0000000000000000000042';
const hash = new Uint8Array(32);
const entryAt = (index: number): Entry => ({
  kind: KINDS.event,
  index,
  receivedAtMs: 0,
  eventId: EVENT_ID,
  previous: hash,
  content: hash,
});
const redaction = (index: number, leafIndex: number, tags: string[]): Notice => ({
  kind: KINDS.redaction,
  index,
  payload: { leafIndex, eventId: EVENT_ID, tags, cause: 'Redaction' },
});

describe('deletions', () => {
  it('stop reading when more wait for a notice than memory should hold', () => {
    const deletions = new Deletions();
    const tags = Array.from({ length: 1000 }, (_, i) => `t${i}`);
    for (let index = 0; index < 1000; index++) deletions.deleted(entryAt(index), tags);
    assert.throws(() => deletions.deleted(entryAt(1000), ['one more']), EvidenceError);
  });

  it('keep nothing of notices that explain nothing', () => {
    const deletions = new Deletions();
    for (let index = 1; index < 2000; index++) deletions.notice(redaction(index, 0, [`t${index}`]));
    assert.deepEqual(deletions.explain(), []);
  });

  it('wait no longer once a notice explains them', () => {
    const deletions = new Deletions();
    for (let index = 0; index < 3000; index += 2) {
      deletions.deleted(entryAt(index), ['a', 'b']);
      deletions.notice(redaction(index + 1, index, ['a', 'b']));
    }
    assert.equal(deletions.explain().length, 1500);
    deletions.deleted(entryAt(4000), ['c']);
    assert.throws(() => deletions.explain(), EvidenceError);
  });
});
