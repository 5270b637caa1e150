import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENT_TOKENS_MAX, eventTokens, SAME_TOKENS_MAX, type SearchedEvent } from './event-tokens.ts';
import { formatPath } from './field-path.ts';
import { shownEvent, withheldEvent } from './testing/shown-event.ts';

interface Read {
  readonly values: [path: string, ...words: string[]][];
  readonly isWhole: boolean;
}

function read(event: SearchedEvent): Read {
  const values: [string, ...string[]][] = [];
  const isWhole = eventTokens(event, {
    value: (path) => values.push([formatPath(path)]),
    token(token, place) {
      values.at(-1)![place + 1] = token;
    },
  });
  return { values, isWhole };
}

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `w${i}`).join(' ');
const wordsAt = (event: SearchedEvent, path: string) =>
  read(event)
    .values.find(([at]) => at === path)!
    .slice(1);

test('the values of an event come in its order, each with its words', () => {
  const context = { ip: '10.0.0.1', list: [true, null, [1.5]], none: {} };
  assert.deepEqual(read(shownEvent({ context, payload: { note: 'Been paid' } })), {
    values: [
      ['action', 'delete', 'invoice'],
      ['actor'],
      ['actor.actorType', 'user'],
      ['actor.userId', 'u', '1'],
      ['actor.userName', 'ana', 'acme', 'test'],
      ['resource'],
      ['resource.resourceType', 'invoice'],
      ['resource.resourceId', 'inv', '42'],
      ['resource.resourceName', 'rechnung', 'fur', 'muller'],
      ['context'],
      ['context.ip', '10', '0', '0', '1'],
      ['context.list'],
      ['context.list[0]', 'true'],
      ['context.list[1]'],
      ['context.list[2]'],
      ['context.list[2][0]', '1', '5'],
      ['context.none'],
      ['payload'],
      ['payload.note', 'been', 'paid'],
    ],
    isWhole: true,
  });
});

test('nothing comes from what the reader does not see', () => {
  const paths = read(withheldEvent()).values.map(([path]) => path);
  assert.ok(!paths.some((path) => /^(context|payload)/.test(path)));

  const payload = { iban: '[REDACTED]', note: 'seen' };
  const redaction = { fields: ['payload.iban'], reason: 'AccessPolicy' } as const;
  const redacted = shownEvent({ payload, redaction: { ...redaction, fields: [...redaction.fields] } });
  assert.deepEqual(read(redacted).values.slice(-2), [['payload'], ['payload.note', 'seen']]);
  // Where nothing is redacted, these are words that somebody wrote.
  assert.deepEqual(wordsAt(shownEvent({ payload }), 'payload.iban'), ['redacted']);
});

test(`only the first ${EVENT_TOKENS_MAX} tokens of an event count`, () => {
  const bare = {
    action: 'A.b',
    actor: { actorType: 'User' },
    resource: { resourceType: 'r', resourceId: 'i' },
  } as const;
  const before = 5;
  const fits = { ...bare, payload: { a: numbered(EVENT_TOKENS_MAX - before) } };
  assert.equal(read(fits).isWhole, true);
  assert.equal(wordsAt(fits, 'payload.a').length, EVENT_TOKENS_MAX - before);

  const over = { ...bare, payload: { a: numbered(EVENT_TOKENS_MAX - before), b: 'last', c: { d: 1 } } };
  assert.equal(read(over).isWhole, false);
  // What has no words any more is still there.
  assert.deepEqual(read(over).values.slice(-3), [['payload.b'], ['payload.c'], ['payload.c.d']]);
});

test(`only ${SAME_TOKENS_MAX} times the same token count, and the others keep their places`, () => {
  const note = `${'same '.repeat(SAME_TOKENS_MAX)} other same other`;
  const event = shownEvent({ payload: { note } });
  const words = wordsAt(event, 'payload.note');
  assert.equal(read(event).isWhole, false);
  assert.equal(words.filter((word) => word === 'same').length, SAME_TOKENS_MAX);
  assert.deepEqual(Object.keys(words).slice(-2), [`${SAME_TOKENS_MAX}`, `${SAME_TOKENS_MAX + 2}`]);
  // The count is that of the event, not of the value.
  const spread = shownEvent({ payload: { a: 'same '.repeat(200), b: 'same '.repeat(56) } });
  assert.equal(wordsAt(spread, 'payload.b').length, 55);
  assert.equal(read(shownEvent({ payload: { a: 'same '.repeat(SAME_TOKENS_MAX) } })).isWhole, true);
});
