import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { concat } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { type Entry, KINDS } from '../event/entry.ts';
import { eventIdText } from '../event/event-id.ts';
import { Succession } from './succession.ts';

const WINDOW = 65_536;
const hash = new Uint8Array(32);
const idOf = (n: number): string =>
  eventIdText(concat(new Uint8Array(12), Uint8Array.of(n >>> 24, n >>> 16, n >>> 8, n)));
const entryAt = (index: number, changes: Partial<Entry> = {}): Entry => ({
  kind: KINDS.event,
  index,
  receivedAtMs: 1000,
  eventId: idOf(index),
  previous: hash,
  content: hash,
  ...changes,
});
const refusedFor = (reason: string, index: number) => (error: unknown) =>
  error instanceof EvidenceError && error.reason === reason && error.index === index;

function succession(entries: readonly Entry[]): Succession {
  const made = new Succession();
  for (const entry of entries) made.next(entry);
  return made;
}

describe('a succession of entries', () => {
  it('may stand still in time and leave indexes out, and may not go back', () => {
    const entries = [entryAt(3), entryAt(4), entryAt(9), entryAt(10, { receivedAtMs: 2000 })];
    succession(entries).close();
    const back = entryAt(11, { receivedAtMs: 1999 });
    assert.throws(() => succession([...entries, back]).close(), refusedFor('TIME_REVERSED', 11));
  });

  it('has no event id twice within 65,536 entries, and forgets ids in the end', () => {
    const entries = Array.from({ length: 2 * WINDOW + 1 }, (_, index) => entryAt(index));
    const repeat = (first: number, after: number): Succession =>
      succession([...entries.slice(0, after), entryAt(after, { eventId: idOf(first) })]);
    assert.throws(() => repeat(0, WINDOW).close(), refusedFor('EVENT_ID_REPEATED', WINDOW));
    const last = 2 * WINDOW + 1;
    assert.throws(() => repeat(last - WINDOW, last).close(), refusedFor('EVENT_ID_REPEATED', last));
    assert.throws(() => repeat(0, last - 1).close(), refusedFor('EVENT_ID_REPEATED', last - 1));
    repeat(0, last).close();
  });

  it('names its first fault, also if others follow', () => {
    const entries = [entryAt(0), entryAt(1, { eventId: idOf(0) }), entryAt(2, { receivedAtMs: 1 })];
    assert.throws(() => succession(entries).close(), refusedFor('EVENT_ID_REPEATED', 1));
  });
});
