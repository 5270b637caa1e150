// P17: no request costs more to refuse than a sound one to take, in time of the processor: that of reading the body, without
// what it takes to store one that is sound. What it costs in memory: waiting.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditError, operationNamed } from '@tallystick/contract';
import { prepareBinding } from '../../packages/server/src/protocols/rest/input.ts';
import { parseBody } from '../../packages/server/src/protocols/input/parse-body.ts';
import { processorMs } from '../../packages/evidence/src/testing/processor-time.ts';
import { twins } from './hostile-bodies.ts';
import { SIZE } from './size.ts';

/** How many times as long as the sound one with the same in it a refused one may take. */
const REFUSED_RATIO_MAX = SIZE.isLong ? 2 : 2.5;
/** And how many times as long as the quickest a valid one may take, with any content. */
const SOUND_RATIO_MAX = SIZE.isLong ? 2.5 : 3.5;
/** As large as it may be in the long form; in the short one, so large that the work is seconds. */
const MEGABYTES = SIZE.isLong ? 10 : 3;
/** The least counts: what the engine does beside the work varies. */
const TIMES = SIZE.isLong ? 5 : 2;

const { body: rules } = prepareBinding(operationNamed('events.ingestBatch'));

function leastMs(text: string): number {
  const bytes = Buffer.from(text);
  const parse = () => {
    try {
      parseBody(bytes, rules, true);
    } catch (error) {
      if (!(error instanceof AuditError)) throw error;
    }
  };
  return Math.min(...Array.from({ length: TIMES }, () => processorMs(parse)));
}

test(`a batch of ${MEGABYTES} megabytes is refused in about the time that it takes to read a sound one`, (t) => {
  const tooLong: string[] = [];
  const require = (said: string, ratio: number, max: number) => {
    t.diagnostic(`${said}: ${ratio.toFixed(2)}`);
    if (ratio > max) tooLong.push(`${said}: ${ratio}`);
  };
  let quickestMs: number | undefined;
  for (const { name, sound, refused } of twins(MEGABYTES, SIZE.isLong ? undefined : 2)) {
    const soundMs = leastMs(sound);
    quickestMs ??= soundMs;
    require(`${name}, sound, against the first`, soundMs / quickestMs, SOUND_RATIO_MAX);
    for (const [how, text] of Object.entries(refused)) {
      require(`${name}, ${how}, against sound`, leastMs(text) / soundMs, REFUSED_RATIO_MAX);
    }
  }
  assert.deepEqual(tooLong, []);
});
