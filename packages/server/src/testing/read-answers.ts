// All that a reader of a tenant can be answered, as texts by what was asked; for tests that hold two services against each
// other.

import assert from 'node:assert/strict';
import type { TenantId } from '@tallystick/contract';
import { adminCaller } from './admin-caller.ts';
import { finderOf } from './found-events.ts';
import type { TestApp } from './test-app.ts';

/** A path, with the body that is posted to it, if there is one. */
export type ReadRequest = readonly [path: string, body?: unknown];

const API = '/api/v1';
const EVENTS_PROVEN = 12;

/** What can be asked of a log as it is now. */
export async function questionsOn(app: TestApp, tenant: TenantId, key: string): Promise<ReadRequest[]> {
  const caller = adminCaller(app, tenant, key);
  const get = async <T>(path: string): Promise<T> => {
    const { code, text } = await caller.get(`${API}${path}`);
    assert.equal(code, '200', `${path}: ${text}`);
    return JSON.parse(text) as T;
  };
  const { treeSize } = await get<{ treeSize: number }>('/checkpoints/latest');
  const streams = (await get<{ data: { streamId: string }[] }>('/event-streams?limit=100')).data;
  const events = (await get<{ data: { eventId: string }[] }>('/audit-events?limit=100')).data;
  const log = `/log/t/${tenant}`;
  const [full, part] = [Math.floor(treeSize / 256), treeSize % 256];
  const widths = [
    ...Array.from({ length: full }, (_, i) => `00${i}`),
    ...(part === 0 ? [] : [`00${full}.p/${part}`]),
  ];
  return [
    [`${log}/checkpoint`],
    [`${log}/key`],
    ...widths.flatMap((tile): ReadRequest[] => [[`${log}/tile/0/${tile}`], [`${log}/tile/entries/${tile}`]]),
    ...(full === 0 ? [] : [[`${log}/tile/1/000.p/${full}`] as const]),
    ['/checkpoints/latest'],
    [`/checkpoints/consistency?from=1&to=${treeSize}`],
    ['/event-streams?limit=100'],
    ...streams.flatMap(({ streamId }): ReadRequest[] => [
      [`/event-streams/${streamId}`],
      [`/event-streams/${streamId}/events?limit=100`],
    ]),
    ['/audit-events?limit=100'],
    ['/audit-events?limit=100&actorId=u-3&sort=timestamp'],
    ['/audit-events?limit=100&action=Read.Invoice'],
    ['/audit-events/search', { query: 'zebra' }],
    ['/audit-events/search', { query: 'action:Delete.* zebra', aggregations: ['byAction', 'byDay'] }],
    ...events
      .filter((_, i) => i % Math.ceil(events.length / EVENTS_PROVEN) === 0)
      .flatMap(({ eventId }): ReadRequest[] => [
        [`/audit-events/${eventId}`],
        [`/audit-events/${eventId}/proof`],
      ]),
  ];
}

/** Each answer has its own: how long it took, and cursors, which end at some time. */
const PASSING = /"(?:cursor|nextCursor|previousCursor)":"[^"]*"|cursor=[^"&]*|"queryTimeMs":[\d.]+/g;

/** Once the index has come after the log. */
export async function answersTo(
  questions: readonly ReadRequest[],
  app: TestApp,
  tenant: TenantId,
  key: string,
): Promise<Record<string, string>> {
  await finderOf(app, tenant, key as never).caughtUp();
  const caller = adminCaller(app, tenant, key);
  const answers: Record<string, string> = {};
  for (const [path, body] of questions) {
    const { code, text } = await (body === undefined
      ? caller.get(`${API}${path}`)
      : caller.post(`${API}${path}`, body));
    answers[`${path} ${JSON.stringify(body)}`] = `${code} ${text.replace(PASSING, '')}`;
  }
  return answers;
}
