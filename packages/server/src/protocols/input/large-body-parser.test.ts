import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../runtime/clock.ts';
import { createTelemetry } from '../../telemetry.ts';
import { LargeBodyParser } from './large-body-parser.ts';

const TELEMETRY = createTelemetry({
  level: 'Error',
  form: 'json',
  secrets: [],
  clock: systemClock,
  write: () => {},
});
const RULES = { depthMax: 8, violationsMax: 10, texts: undefined, schema: {} };
const bodyOf = (bytes: number) => Buffer.from(`{"a":"${'x'.repeat(bytes)}"}`);

test('one who sends many large bodies does not make another wait for all of them', async () => {
  await using parser = new LargeBodyParser(TELEMETRY);
  const done: string[] = [];
  const parse = async (sender: string, bytes: number) => {
    await parser.parse(sender, { bytes: bodyOf(bytes), rules: RULES, isKeyed: false });
    done.push(sender);
  };
  await Promise.all([...Array.from({ length: 12 }, () => parse('loud', 1e6)), parse('quiet', 2e5)]);
  assert.equal(done.length, 13);
  assert.ok(done.indexOf('quiet') <= 2, done.join());
});

test('a body that is refused stops nobody after it', async () => {
  await using parser = new LargeBodyParser(TELEMETRY);
  const parse = (bytes: Uint8Array) => parser.parse('a', { bytes, rules: RULES, isKeyed: false });
  const settled = await Promise.allSettled([parse(Buffer.from('{')), parse(bodyOf(10))]);
  assert.deepEqual(
    settled.map(({ status }) => status),
    ['rejected', 'fulfilled'],
  );
});
