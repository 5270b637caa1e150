// Context and payload go out as they are stored, word for word, in every answer that shows an event.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventStream, List } from '@tallystick/contract';
import { canonicalJson } from '@tallystick/evidence';
import { EVENT } from '../testing/bound-operations.ts';
import { startEventsApp } from '../testing/events-app.ts';
import { finderOf } from '../testing/found-events.ts';

const { app, acme } = startEventsApp();

const HEADERS = { 'X-API-Key': 'Secret', 'X-Tenant-Id': 'acme', 'Content-Type': 'application/json' };
/** What is put in place of a text on the way, should somebody send it. */
const MARK = '"\\u0041"';
const CONTEXT = { [MARK]: MARK, 'a"b': { '}': '{', ',"payload":': [] } };
const PAYLOAD = {
  9: 'nine',
  10: 'ten',
  '-': 1e21,
  '\u{10000}': '\ud7ff\u2028é😀',
  list: [[], {}, null, 1e-7],
};
const CONTENT = `"context":${canonicalJson(CONTEXT)},"payload":${canonicalJson(PAYLOAD)},`;

async function textOf(path: string, more: RequestInit = {}): Promise<string> {
  const response = await fetch(`${app.url}/api/${path}`, { headers: HEADERS, ...more });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return text;
}

test('each answer shows them as the texts that were hashed, and everything around them as before', async () => {
  const sent = { ...EVENT, actor: { ...EVENT.actor, userName: MARK }, context: CONTEXT, payload: PAYLOAD };
  const { eventId } = (await acme.ingest(sent)).body;
  await finderOf(app).caughtUp();
  const streams = JSON.parse(await textOf('v1/event-streams')) as List<EventStream>;
  const answers = [
    await textOf(`v1/audit-events/${eventId}`),
    await textOf(`v2/audit-events/${eventId}?includeRelatedEntities=true`),
    await textOf('v1/audit-events'),
    await textOf('v1/audit-events/search', { method: 'POST', body: '{"query":"nine"}' }),
    await textOf(`v1/event-streams/${streams.data[0]!.streamId}/events`),
  ];
  for (const text of answers) {
    assert.equal(text.split(CONTENT).length, 2, text);
    // Without them it is what the engine writes.
    const rest = text.replace(CONTENT, '');
    assert.equal(rest, JSON.stringify(JSON.parse(rest)));
    assert.ok(rest.includes(`"actor":${canonicalJson(sent.actor)},`));
  }
});

test('an event with only one of them, or none, shows that', async () => {
  const shown: string[] = [];
  for (const content of [{}, { context: {} }, { payload: { a: 1 } }]) {
    const { eventId } = (await acme.ingest({ ...EVENT, ...content })).body;
    const text = await textOf(`v1/audit-events/${eventId}`);
    shown.push(...(text.match(/"(?:context|payload)":.*?\}/g) ?? ['none']));
  }
  assert.deepEqual(shown, ['none', '"context":{}', '"payload":{"a":1}']);
});

test('a reader below its class gets neither, and nothing tells what was there', async () => {
  const confidential = { ...EVENT, classification: 'Confidential' };
  const forms: string[] = [];
  for (const content of [{}, { context: CONTEXT, payload: PAYLOAD }]) {
    const { eventId } = (await acme.ingest({ ...confidential, ...content })).body;
    const text = await textOf(`v1/audit-events/${eventId}`, {
      headers: { ...HEADERS, 'X-API-Key': 'Public' },
    });
    forms.push(/"context":.*?"retention"/.exec(text)?.[0] ?? '');
  }
  const withheld =
    '"context":{},"payload":{},"redaction":{"fields":["payload","context"],"reason":"ClassificationAboveClearance"},"retention"';
  assert.deepEqual(forms, [withheld, withheld]);
});
