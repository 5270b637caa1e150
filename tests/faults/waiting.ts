// Sends a request beside a probe: a cheap GET, asked again and again by another process, which tells how long it had to wait.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { AGAIN_MAX, Probe, WAIT_MS_MAX } from './probe.ts';
import { KEY, type Service } from './running.ts';
import { SIZE } from './size.ts';
import { residentMb } from './usage.ts';

const JSON_TYPE = 'application/json';
/** What MCP demands, and what all others can answer. */
const ACCEPTED = 'application/json, text/event-stream;q=0.1';

export interface Seen {
  readonly name: string;
  readonly status: number;
  /** Its beginning. */
  readonly answer: string;
  readonly tookMs: number;
  /** The longest that a cheap GET beside it had to wait. */
  readonly waitedMs: number;
  /** How much more memory the service had meanwhile. */
  readonly grewMb: number;
  /** How long they waited the times before. */
  readonly before?: readonly number[];
}

export interface Request {
  readonly name: string;
  /** Below the root. */
  readonly path: string;
  /** That of REST, where it is left out. */
  readonly root?: string;
  readonly tenant?: string;
  readonly method?: string;
  /** JSON, where it is left out. */
  readonly type?: string;
  /** Undefined: it is a GET. */
  readonly text?: string | Uint8Array;
}

export async function send(
  service: Service,
  { name, path, root = '/api/v1', method = 'POST', tenant = 'acme', type = JSON_TYPE, text }: Request,
  probe: Probe,
): Promise<Seen> {
  const body = text === undefined ? undefined : gzipSync(text, { level: 1 });
  await probe.longestMs();
  const beganMb = residentMb(service);
  let mostMb = beganMb;
  const watch = setInterval(() => (mostMb = Math.max(mostMb, residentMb(service))), 5);
  const beganAt = performance.now();
  const response = await fetch(`${service.url}${root}${path}`, {
    ...(body && { method, body }),
    headers: {
      'X-API-Key': KEY,
      'X-Tenant-Id': tenant,
      ...(body && {
        'Content-Type': type,
        Accept: ACCEPTED,
        'Content-Encoding': 'gzip',
        // A document of GraphQL may ask for several things, and a key is for one.
        ...(root !== '/graphql' && { 'Idempotency-Key': `${path} ${name}`.replaceAll(' ', '-') }),
      }),
    },
  });
  const answer = await response.text();
  const tookMs = performance.now() - beganAt;
  clearInterval(watch);
  return {
    name: `${path}: ${name}`,
    status: response.status,
    answer: answer.slice(0, 2000),
    tookMs,
    waitedMs: await probe.longestMs(),
    grewMb: mostMb - beganMb,
  };
}

/**
 * What blocks does so each time; what else the machine does comes once. What was stored is not sent again: that is no work. On a quiet
 * machine the first time counts for what is sound, which is read and cached then.
 */
export async function sendUntilInTime(service: Service, request: Request, probe: Probe): Promise<Seen> {
  const before: number[] = [];
  for (;;) {
    const seen = await send(service, request, probe);
    const againMax = seen.status === 201 || (SIZE.isLong && seen.status < 400) ? 0 : AGAIN_MAX;
    if (seen.waitedMs <= WAIT_MS_MAX || before.length === againMax) return { ...seen, before };
    before.push(seen.waitedMs);
  }
}

export function requireInTime(test: TestContext, seen: readonly Seen[]): void {
  for (const { name, status, tookMs, waitedMs, before = [] } of seen) {
    const waited = [...before, waitedMs].map((ms) => ms.toFixed(0)).join(', then ');
    test.diagnostic(`${name}: ${status} after ${tookMs.toFixed(0)} ms, others waited ${waited} ms`);
  }
  const late = seen.filter(({ waitedMs }) => waitedMs > WAIT_MS_MAX);
  assert.deepEqual(late, [], `others waited over ${WAIT_MS_MAX} ms`);
}
