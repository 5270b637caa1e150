// Two tenants with the same policies and the same log, but for what one reader may not see. That reader gets the same answers
// from both, byte for byte, on every way to an event. And each event is shown as the plain definition says.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { AuditEvent } from '@tallystick/contract';
import * as fc from 'fast-check';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { startTestApp, type TestApp } from '../testing/test-app.ts';
import { anyQuestions } from './testing/any-questions.ts';
import { anyWorlds, type Worlds } from './testing/any-worlds.ts';
import { plainlyClassified, plainlyHeld, plainlySeen } from './testing/plain-sight.ts';
import { believeReader, type Questions, World, type WorldAnswer } from './testing/world-answers.ts';

const NOW_MS = Date.UTC(2026, 0, 3);
const DAY_MS = 86_400_000;
/** Timers run, so that loops go on. */
const STANDING: Clock = { ...systemClock, now: () => NOW_MS, monotonicNs: () => 1e9 };

const RUNS = 12;
/** On a slow machine fewer are tried than that. */
const TIME_MS = 16_000;
const RUNS_MIN = 2;

async function requireAlike(app: TestApp, at: number, worlds: Worlds, questions: Questions): Promise<void> {
  const { reader, one, other } = worlds;
  const [first, second] = [new World(app, `one-${at}`, reader), new World(app, `two-${at}`, reader)];
  await Promise.all([first.fill(worlds, one), second.fill(worlds, other)]);
  const eventIds = one.map(({ eventId }) => eventId);
  const [ofFirst, ofSecond] = [first.told(questions, eventIds), second.told(questions, eventIds)];
  for (;;) {
    const [{ value: told }, { value: toldThere }] = await Promise.all([ofFirst.next(), ofSecond.next()]);
    assert.equal(toldThere?.asked, told?.asked);
    if (told === undefined) return;
    requireSame(told, toldThere);
    requirePlain(told, worlds);
  }
}

const SHOWN_BEFORE = 200;

/** Shows where they differ first: an answer may be long. */
function requireSame({ asked, text }: WorldAnswer, other: WorldAnswer): void {
  if (other.text === text) return;
  const at = [...text].findIndex((sign, i) => sign !== other.text[i]);
  const part = (of: string) => of.slice(Math.max(0, at - SHOWN_BEFORE), at + SHOWN_BEFORE);
  assert.fail(`${asked}\nis answered: ${part(text)}\nand there:   ${part(other.text)}`);
}

const MEMBERS = [
  'timestamp',
  'correlationId',
  'actor',
  'action',
  'resource',
  'outcome',
  'classification',
  'context',
  'payload',
] as const;

/** An event that was asked for itself is shown as the plain definition says. */
function requirePlain({ asked, status, body }: WorldAnswer, { one, policies, holds, reader }: Worlds): void {
  const sent = one.find(({ eventId }) => asked === `/api/v1/audit-events/${eventId}`);
  if (sent === undefined) return;
  const seen = plainlySeen(sent, policies, reader);
  assert.equal(status, seen === undefined ? 404 : 200, asked);
  if (seen === undefined) return;
  const { retention, ...shown } = JSON.parse(body) as AuditEvent;
  const { event, redaction } = seen;
  assert.deepEqual(shown.redaction, redaction, asked);
  for (const member of MEMBERS) assert.deepEqual(shown[member], event[member], `${asked} ${member}`);
  const whole = { ...sent, classification: plainlyClassified(sent, policies) };
  const isHeld = plainlyHeld(whole, shown.sequence, holds, policies, redaction);
  assert.equal(retention!.legalHold, isHeld, `${asked} legalHold`);
  assert.equal((Date.parse(retention!.expiresAt) - NOW_MS) / DAY_MS, seen.retentionDays, asked);
}

test('worlds that differ in what a reader may not see are one world to that reader', async () => {
  await using app = await startTestApp({}, { clock: STANDING, authenticate: believeReader });
  const endsAt = Date.now() + TIME_MS;
  let tried = 0;
  await fc.assert(
    fc.asyncProperty(anyWorlds, anyQuestions, async (worlds, questions) => {
      if (tried >= RUNS_MIN && Date.now() > endsAt) return;
      tried++;
      await requireAlike(app, tried, worlds, questions);
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});

test('of the events of such worlds, many differ', () => {
  const pairs = fc
    .sample(anyWorlds, 100)
    .flatMap(({ one, other }) => one.map((event, i) => [event, other[i]]));
  const differing = pairs.filter(([event, other]) => !isDeepStrictEqual(event, other));
  assert.ok(differing.length > pairs.length / 3, `${differing.length} of ${pairs.length}`);
});
