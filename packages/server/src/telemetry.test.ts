import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from './testing/fake-clock.ts';
import { createTelemetry, type TelemetryOptions } from './telemetry.ts';

function capture(options: Partial<TelemetryOptions> = {}) {
  const lines: string[] = [];
  const telemetry = createTelemetry({
    clock: createFakeClock(0),
    level: 'Debug',
    form: 'json',
    secrets: [],
    write: (line) => lines.push(line),
    ...options,
  });
  return { telemetry, lines };
}

test('in Production a line is one JSON object', () => {
  const { telemetry, lines } = capture();
  telemetry.info('ready', { port: 8080, note: 'a\nb', nothing: undefined, time: 'never' });
  assert.deepEqual(
    lines.map((line) => JSON.parse(line) as unknown),
    [{ time: '1970-01-01T00:00:00.000Z', level: 'Info', message: 'ready', port: 8080, note: 'a\nb' }],
  );
  assert.equal(lines[0]?.indexOf('\n'), lines[0]!.length - 1);
});

test('for people a line is readable, and nothing from outside breaks out of it', () => {
  const { telemetry, lines } = capture({ form: 'readable' });
  telemetry.warn('slow', { path: '/x\u001b[31m\n', ms: 5, name: 'a b', wide: '\u009b31m' });
  assert.deepEqual(lines, [
    '00:00:00.000 warn  slow  path="/x\\u001b[31m\\n"  ms=5  name="a b"  wide="\ufffd31m"\n',
  ]);
});

test('only lines that are serious enough are written', () => {
  const { telemetry, lines } = capture({ level: 'Warn' });
  telemetry.debug('d');
  telemetry.info('i');
  telemetry.warn('w');
  telemetry.error('e', new Error('x'));
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { level: string }).level),
    ['Warn', 'Error'],
  );
  assert.deepEqual([telemetry.writes('Info'), telemetry.writes('Warn')], [false, true]);
});

test('an error is written with its cause and its stack', () => {
  const { telemetry, lines } = capture();
  telemetry.error('failed', new TypeError('inner', { cause: new Error('deep') }), { id: 1 });
  const line = JSON.parse(lines[0]!) as Record<string, string>;
  assert.deepEqual([line['error'], line['cause'], line['id']], ['TypeError: inner', 'Error: deep', 1]);
  assert.match(line['stack'] ?? '', /telemetry\.test/);
});

test('a known secret is masked wherever it turns up', () => {
  for (const form of ['json', 'readable'] as const) {
    const { telemetry, lines } = capture({ form, secrets: ['hunter"2', ''] });
    const cause = new Error('refused postgres://u:hunter"2@db');
    telemetry.error('with hunter"2', new Error('hunter"2', { cause }), { url: 'x hunter"2 y' });
    assert.doesNotMatch(lines.join(''), /hunter/);
    assert.match(lines.join(''), /\*\*\*/);
  }
});

test('what was found altered is told for a day after it was seen last, or until it is sound', async () => {
  const clock = createFakeClock();
  const write = () => {};
  const telemetry = createTelemetry({ clock, level: 'Error', form: 'json', secrets: [], write });
  telemetry.altered('Event', 'an event was changed', new Error('x'));
  telemetry.altered('Keyring', 'the keyring cannot be used', new Error('x'));
  const known = () => (['Event', 'Keyring', 'Record'] as const).filter((what) => telemetry.isAltered(what));
  assert.deepEqual(known(), ['Event', 'Keyring']);
  telemetry.sound('Keyring');
  assert.deepEqual(known(), ['Event']);
  await clock.advance(24 * 3_600_000 + 1);
  assert.deepEqual(known(), []);
});
