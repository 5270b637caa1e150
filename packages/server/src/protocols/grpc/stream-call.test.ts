// Streams as a client of grpc-js has them: batches in and their results out, in order; and the tail of a log.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { after, before, describe, it } from 'node:test';
import {
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { type AdminCaller, callerOf, WITH_PLATFORM_KEY } from '../../testing/admin-caller.ts';
import { EVENT } from '../../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { encodeMessage } from '../protobuf/encode.ts';
import { messageJson } from '../protobuf/to-json.ts';
import { interfaceOf } from '../protobuf/wire-form.ts';

let app: TestApp;
let rest: AdminCaller;
let client: Client;
before(async () => {
  app = await startTestApp({ ...WITH_PLATFORM_KEY, Grpc__Port: '0', Telemetry__Level: 'Warn' });
  rest = await callerOf(app, 'acme');
  client = new Client(`127.0.0.1:${app.grpcPort}`, credentials.createInsecure());
});
after(async () => {
  client.close();
  await app[Symbol.asyncDispose]();
});

const methodNamed = (name: string) => interfaceOf('v2').methods.find(({ method }) => method === name)!;
const [INGEST, TAIL] = [methodNamed('IngestStream'), methodNamed('Tail')];
const asIs = (bytes: Buffer) => bytes;

function metadataOf(key = rest.key): Metadata {
  const metadata = new Metadata();
  metadata.set('x-api-key', key);
  metadata.set('x-tenant-id', 'acme');
  return metadata;
}

interface Batched {
  readonly index: number;
  readonly answer?: string;
  readonly batchResult?: { readonly successCount: number };
  readonly error?: { readonly code: string };
}

const openIngest = (key?: string): ClientDuplexStream<Buffer, Buffer> =>
  client.makeBidiStreamRequest(INGEST.path, asIs, asIs, metadataOf(key));

const batchOf = (events: readonly object[], idempotencyKey?: string) =>
  encodeMessage(INGEST.request, { batch: { events }, idempotencyKey });

const openTail = (input: object, key?: string): ClientReadableStream<Buffer> =>
  client.makeServerStreamRequest(TAIL.path, asIs, asIs, encodeMessage(TAIL.request, input), metadataOf(key));

async function* told<T>(stream: AsyncIterable<Buffer>, plan = INGEST.response): AsyncGenerator<T> {
  for await (const bytes of stream) yield JSON.parse(String(messageJson(plan, bytes, { textMax: 1e7 }))) as T;
}

async function failureOf(stream: AsyncIterable<Buffer>): Promise<ServiceError> {
  try {
    for await (const _ of stream);
  } catch (error) {
    return error as ServiceError;
  }
  throw new Error('the stream did not fail');
}

interface Entry {
  readonly streamEvent: { readonly sequence: number; readonly action: string };
}

describe('a stream of batches', () => {
  it('is answered in order, each as it was stored; one that is refused does not end it', async () => {
    const stream = openIngest();
    const answers = told<Batched>(stream);
    const ask = async (message: Buffer) => {
      stream.write(message);
      return (await answers.next()).value as Batched;
    };
    const first = await ask(batchOf([EVENT, EVENT], 'stream-1'));
    assert.deepEqual([first.index, first.answer, first.batchResult?.successCount], [0, 'Created', 2]);
    const again = await ask(batchOf([EVENT, EVENT], 'stream-1'));
    assert.deepEqual([again.index, again.answer], [1, 'Repeated']);
    const other = await ask(batchOf([EVENT], 'stream-1'));
    assert.deepEqual([other.index, other.error?.code], [2, 'IDEMPOTENCY_KEY_REUSED']);
    assert.equal((await ask(batchOf([]))).error?.code, 'BATCH_SIZE_INVALID');
    assert.equal((await ask(Buffer.of(0x0f))).error?.code, 'MALFORMED_JSON');
    const partial = await ask(batchOf([EVENT, { ...EVENT, action: 'nonsense' }]));
    assert.deepEqual([partial.answer, partial.batchResult?.successCount], ['Partial', 1]);
    const large = Array.from({ length: 200 }, () => ({ ...EVENT, payload: { text: 'x'.repeat(3000) } }));
    assert.equal((await ask(batchOf(large))).batchResult?.successCount, 200);
    stream.end();
    assert.equal((await answers.next()).done, true);
  });

  it('is stored in the order in which it was sent, also where the next batch is read first', async () => {
    const stream = openIngest();
    const payload = { text: 'x'.repeat(3000) };
    const batches = [300, 1, 300, 2].map((length, batch) =>
      Array.from({ length }, () => ({
        ...EVENT,
        action: `Order.${'ABCD'[batch]}`,
        ...(length > 2 && { payload }),
      })),
    );
    for (const events of batches) stream.write(batchOf(events));
    stream.end();
    let index = 0;
    for await (const answer of told<Batched>(stream)) {
      assert.deepEqual([answer.index, answer.answer], [index, 'Created']);
      index += 1;
    }
    const stored: string[] = [];
    const tail = openTail({ fromSequence: 1 });
    tail.on('error', () => {});
    const expected = batches.flat().map(({ action }) => action);
    for await (const { streamEvent } of told<Entry>(tail, TAIL.response)) {
      if (streamEvent.action.startsWith('Order.')) stored.push(streamEvent.action);
      if (stored.length === expected.length) break;
    }
    assert.deepEqual(stored, expected);
  });

  it('is refused as a whole where its sender may not write', async () => {
    const unknown = await failureOf(openIngest('tsk_none'));
    assert.equal(unknown.code, status.UNAUTHENTICATED);
    // Its head alone says that it is too large.
    const session = connectHttp2(`http://127.0.0.1:${app.grpcPort}`);
    const stream = session.request({
      ':method': 'POST',
      ':path': INGEST.path,
      'content-type': 'application/grpc',
      'x-api-key': rest.key,
      'x-tenant-id': 'acme',
    });
    stream.write(Buffer.of(0, 1, 0, 0, 0, 7));
    const [trailers] = (await once(stream.resume(), 'trailers')) as [Record<string, string>];
    assert.equal(trailers['grpc-status'], String(status.RESOURCE_EXHAUSTED));
    session.destroy();
  });
});

describe('the tail of a log', () => {
  it('begins where it is asked to, and goes on with what is sent then', async () => {
    const { text } = await rest.get('/api/v2/event-streams');
    const [{ lastSequence }] = (JSON.parse(text) as { data: [{ lastSequence: number }] }).data;
    const tail = openTail({ fromSequence: lastSequence });
    const entries = told<Entry>(tail, TAIL.response);
    const next = async () => ((await entries.next()).value as Entry).streamEvent;
    assert.equal((await next()).sequence, lastSequence);
    const stream = openIngest();
    stream.on('error', () => {}).resume();
    stream.write(batchOf([{ ...EVENT, action: 'Follow.Me' }]));
    const { sequence, action } = await next();
    assert.deepEqual([sequence, action], [lastSequence + 1, 'Follow.Me']);
    stream.end();
    tail.cancel();
    await assert.rejects(entries.next(), /CANCELLED/);
  });

  it('refuses a place that is none, and a caller who is unknown', async () => {
    assert.equal((await failureOf(openTail({ fromSequence: 0 }))).code, status.INVALID_ARGUMENT);
    assert.equal((await failureOf(openTail({}, 'tsk_none'))).code, status.UNAUTHENTICATED);
  });

  it('ends with the service, and says that one may come back', async () => {
    await using stopped = await startTestApp({
      ...WITH_PLATFORM_KEY,
      Grpc__Port: '0',
      Telemetry__Level: 'Warn',
    });
    const caller = await callerOf(stopped, 'acme');
    const other = new Client(`127.0.0.1:${stopped.grpcPort}`, credentials.createInsecure());
    const request = encodeMessage(TAIL.request, { fromSequence: 1 });
    const tail = other.makeServerStreamRequest(TAIL.path, asIs, asIs, request, metadataOf(caller.key));
    await new Promise((resolve) => tail.once('data', resolve));
    const failed = failureOf(tail);
    await stopped[Symbol.asyncDispose]();
    assert.equal((await failed).code, status.UNAVAILABLE);
    other.close();
  });
});
