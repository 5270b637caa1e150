// The tail of a log as server-sent events at `/tail`, from the sequence in `?from=` on: what protocols make of the parts in
// protocols/streaming, for tests of those.

import type { AuditError, StreamEvent } from '@tallystick/contract';
import { enter, type Gateway } from '../gateway/pipeline.ts';
import { ByteStream } from '../protocols/http/byte-stream.ts';
import type { Mount } from '../protocols/http/mount.ts';
import { ratedSender } from '../protocols/http/rated-sender.ts';
import { callFacts } from '../protocols/http/request-headers.ts';
import { LastingAnswers } from '../protocols/streaming/lasting-answers.ts';
import { SSE_TYPE, sseBytes, type SseMessage } from '../protocols/streaming/sse.ts';
import { openTail } from '../protocols/streaming/tail.ts';
import { tailAsk } from '../protocols/streaming/tail-ask.ts';
import { writeJson } from '../written-json.ts';
import type { TestApp } from './test-app.ts';

export function tailMount(gateway: Gateway): Mount {
  const { clock, growth, lifecycle } = gateway;
  const answers = new LastingAnswers(lifecycle.draining, clock);
  const headers = { 'Content-Type': SSE_TYPE };
  return {
    prefix: '/tail',
    standingHeaders: {},
    async handle(exchange) {
      const { credentials, tenant = '' } = callFacts(exchange);
      const { correlation, path, queryText } = exchange;
      const sender = ratedSender(exchange, clock);
      const arrival = { credentials, tenant, correlation, sender, path, version: 'v2' } as const;
      await enter(arrival, gateway);
      const ask = tailAsk(arrival, gateway);
      const lasting = answers.begin(tenant);
      const from = new URLSearchParams(queryText).get('from');
      const parts = { ask, tenant, growth, clock, lasting };
      const tail = await openTail(from === null ? undefined : Number(from), parts);
      async function* messages(): AsyncGenerator<SseMessage> {
        for await (const entry of tail) yield { id: String(entry.sequence), data: writeJson(entry) };
      }
      const body = new ByteStream(sseBytes(messages(), lasting, clock), undefined);
      return { status: 200, headers, body, coding: undefined };
    },
    refuse: ({ code }: AuditError) => ({ status: 400, headers: {}, body: code, coding: undefined }),
  };
}

/** The entries of a tail, as its reader gets them. Disposed of: its reader goes away. */
export async function tailing(
  { url }: Pick<TestApp, 'url'>,
  key: string,
  tenant: string,
  from?: number,
): Promise<AsyncGenerator<StreamEvent, void>> {
  const stop = new AbortController();
  const response = await fetch(`${url}/tail${from === undefined ? '' : `?from=${from}`}`, {
    headers: { 'X-API-Key': key, 'X-Tenant-Id': tenant },
    signal: stop.signal,
  });
  if (response.status !== 200) throw new Error(await response.text());
  return entriesIn(response.body!, stop);
}

async function* entriesIn(
  body: AsyncIterable<Uint8Array>,
  stop: AbortController,
): AsyncGenerator<StreamEvent, void> {
  let text = '';
  try {
    for await (const chunk of body) {
      text += Buffer.from(chunk).toString();
      const messages = text.split('\n\n');
      text = messages.pop()!;
      for (const message of messages) {
        const data = /^data: (.*)$/m.exec(message)?.[1];
        if (data !== undefined) yield JSON.parse(data) as StreamEvent;
      }
    }
  } finally {
    stop.abort();
  }
}

export async function sequencesOf(tail: AsyncGenerator<StreamEvent, void>, count: number): Promise<number[]> {
  const sequences: number[] = [];
  while (sequences.length < count) {
    const { value, done } = await tail.next();
    if (done === true) throw new Error(`the tail ends after ${sequences.join(', ')}`);
    sequences.push(value.sequence);
  }
  return sequences;
}
