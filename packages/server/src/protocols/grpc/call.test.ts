// Calls as the clients have them that people use: grpc-js by the committed .proto files, Connect and gRPC-Web by connect-web,
// curl's plain JSON; and what the protocols themselves ask for.

import assert from 'node:assert/strict';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { create, createFileRegistry, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  file_google_protobuf_struct,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web';
import {
  Client,
  credentials,
  loadPackageDefinition,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { type EventDraft, ERROR_CODES, LIMITS } from '@tallystick/contract';
import { type AdminCaller, callerOf, WITH_PLATFORM_KEY } from '../../testing/admin-caller.ts';
import { EVENT } from '../../testing/bound-operations.ts';
import { startTestApp, type TestApp } from '../../testing/test-app.ts';
import { encodeMessage } from '../protobuf/encode.ts';
import { filesOf } from '../protobuf/descriptors.ts';
import { messageJson } from '../protobuf/to-json.ts';
import { interfaceOf } from '../protobuf/wire-form.ts';
import { GRPC_STATUS_OF_ERROR } from './error-status.ts';
import { frame } from './frames.ts';

let app: TestApp;
let rest: AdminCaller;
before(async () => {
  app = await startTestApp({ ...WITH_PLATFORM_KEY, Grpc__Port: '0', Telemetry__Level: 'Warn' });
  rest = await callerOf(app, 'acme');
});
after(() => app[Symbol.asyncDispose]());

const headers = (more: Record<string, string> = {}) => ({
  'x-api-key': rest.key,
  'x-tenant-id': 'acme',
  ...more,
});

const v1 = interfaceOf('v1');
const methodNamed = (name: string) => v1.methods.find(({ operation }) => operation.name === name)!;
const INGEST = methodNamed('events.ingest');
const LIST = methodNamed('streams.list');

const files = filesOf(v1).map(({ bytes }) => fromBinary(FileDescriptorProtoSchema, bytes));
const registry = createFileRegistry(
  create(FileDescriptorSetSchema, { file: [file_google_protobuf_struct.proto, ...files] }),
);

interface Sent {
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array | string;
}

/** A call by plain HTTP/1.1. */
function post({ path = INGEST.path, headers: more = {}, body }: Sent): Promise<Response> {
  return fetch(`${app.url}${path}`, {
    method: 'POST',
    headers: headers(more),
    ...(body !== undefined && { body: body as string }),
  });
}

interface Heard {
  readonly head: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A call by plain HTTP/2. */
function ask(sent: Sent): Promise<Heard> {
  const session = connectHttp2(`http://127.0.0.1:${app.grpcPort}`);
  return new Promise<Heard>((resolve, reject) => {
    session.on('error', reject);
    const stream = session.request({
      ':method': 'POST',
      ':path': sent.path ?? LIST.path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers(sent.headers),
    });
    let head: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    stream.on('response', (found) => (head = found));
    stream.on('trailers', (found) => (trailers = found));
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('end', () => resolve({ head, trailers, body: Buffer.concat(chunks) }));
    stream.end(sent.body ?? frame(0, new Uint8Array()));
  }).finally(() => session.destroy());
}

/** As a probe of an orchestrator asks: by wire, without a credential. */
it('grpc.health.v1 is asked in JSON, too', async () => {
  for (const [text, number] of [
    ['{}', '0'],
    ['null', '0'],
    ['{', '3'],
    ['{"service":"tallystick.v9.X"}', '5'],
  ] as const) {
    const { head, trailers } = await ask({
      path: '/grpc.health.v1.Health/Check',
      headers: { 'content-type': 'application/grpc+json' },
      body: frame(0, Buffer.from(text)),
    });
    assert.equal(trailers['grpc-status'] ?? head['grpc-status'], number, text);
  }
});

describe('a client made from the .proto files', () => {
  it('calls, reads answers, and gets an error with its details', async () => {
    const folder = fileURLToPath(new URL('../../../../contract/interfaces/proto/', import.meta.url));
    const loaded = loadSync('tallystick/v1/services.proto', {
      includeDirs: [folder],
      enums: String,
      longs: Number,
    });
    const { tallystick } = loadPackageDefinition(loaded) as unknown as {
      tallystick: { v1: { EventsService: new (...parts: unknown[]) => Client & Record<string, unknown> } };
    };
    const client = new tallystick.v1.EventsService(`127.0.0.1:${app.grpcPort}`, credentials.createInsecure());
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers())) metadata.set(name, value);
    const call = (name: string, request: object) =>
      new Promise<Record<string, Record<string, unknown>>>((resolve, reject) => {
        const method = client[name] as (...parts: unknown[]) => void;
        method.call(client, request, metadata, (error: ServiceError | null, answer: never) =>
          error === null ? resolve(answer) : reject(error),
        );
      });
    const event = {
      timestamp: EVENT.timestamp,
      actor: { actorType: 'ACTOR_TYPE_USER', userId: 'u-1' },
      action: 'Read.Invoice',
      resource: { resourceType: 'Invoice', resourceId: 'INV-1' },
      payloadJson: '{"amount": 12.50}',
    };
    const { ingestReceipt } = await call('Ingest', { event });
    const { storedEvent } = await call('Get', { eventId: ingestReceipt!['eventId'] });
    const shown = storedEvent!['auditEvent'] as Record<string, unknown>;
    assert.equal(shown['action'], 'Read.Invoice');
    assert.equal((shown['actor'] as { actorType: string }).actorType, 'ACTOR_TYPE_USER');
    const failed = call('Get', { eventId: '01KE0000000000000000000042' });
    await assert.rejects(failed, (error: ServiceError) => {
      assert.equal(error.code, status.NOT_FOUND);
      const [bytes] = error.metadata.get('grpc-status-details-bin');
      assert.match(String(bytes), /google\.rpc\.ErrorInfo.*EVENT_NOT_FOUND/s);
      return true;
    });
    client.close();
  });
});

describe('Connect and gRPC-Web over HTTP/1.1', () => {
  const options = () => ({ baseUrl: app.url, interceptors: [withHeaders] });
  const withHeaders = (next: (request: never) => Promise<never>) => (request: { header: Headers }) => {
    for (const [name, value] of Object.entries(headers())) request.header.set(name, value);
    return next(request as never);
  };
  const transports: [name: string, make: () => Transport][] = [
    ['Connect, binary', () => createConnectTransport({ ...options(), useBinaryFormat: true } as never)],
    ['Connect, JSON', () => createConnectTransport({ ...options(), useBinaryFormat: false } as never)],
    ['Connect, by GET', () => createConnectTransport({ ...options(), useHttpGet: true } as never)],
    ['gRPC-Web', () => createGrpcWebTransport({ ...options(), useBinaryFormat: true } as never)],
    ['gRPC-Web, JSON', () => createGrpcWebTransport({ ...options(), useBinaryFormat: false } as never)],
  ];
  for (const [name, make] of transports) {
    it(`${name}: a call, its answer and an error`, async () => {
      const service = registry.getService('tallystick.v1.EventsService')!;
      const client = createClient(service, make()) as unknown as Record<
        string,
        (request: object) => Promise<Record<string, never>>
      >;
      const event = {
        timestamp: EVENT.timestamp,
        actor: { actorType: 1, userId: name },
        action: 'Read.Invoice',
        resource: { resourceType: 'Invoice', resourceId: 'INV-1' },
        payloadForm: { case: 'payload', value: { amount: 1 } },
      };
      const { ingestReceipt } = await client['ingest']!({ event });
      const { eventId } = ingestReceipt as unknown as { eventId: string };
      const { storedEvent } = await client['get']!({ eventId });
      const { shape } = storedEvent as unknown as {
        shape: { case: string; value: { actor: { userId: string }; sequence: bigint } };
      };
      assert.deepEqual(
        [shape.case, shape.value.actor.userId, typeof shape.value.sequence],
        ['auditEvent', name, 'bigint'],
      );
      await assert.rejects(client['get']!({ eventId: '01KE0000000000000000000042' }), (error) => {
        assert.ok(error instanceof ConnectError);
        assert.equal(error.code, Code.NotFound);
        assert.deepEqual(
          error.details.map((each) => (each as { type: string }).type),
          ['google.rpc.ErrorInfo', 'tallystick.v1.ErrorInfo'],
        );
        return true;
      });
    });
  }

  it('plain JSON as curl sends it, also as the contract spells it', async () => {
    for (const event of [
      EVENT,
      {
        ...EVENT,
        actor: { actor_type: 'ACTOR_TYPE_USER', userId: 'u' },
        payload: undefined,
        payloadJson: '{"a":1}',
      },
    ]) {
      const answer = await post({
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ event }),
      });
      const { ingestReceipt } = (await answer.json()) as { ingestReceipt: { idempotent: boolean } };
      assert.deepEqual([answer.status, ingestReceipt.idempotent], [200, false]);
      assert.equal(answer.headers.get('tallystick-answer'), 'Created');
    }
    const page = await post({ path: LIST.path, headers: { 'content-type': 'application/json' }, body: '{}' });
    const { data } = (await page.json()) as { data: { status: string; firstSequence: string }[] };
    assert.deepEqual([data[0]?.status, data[0]?.firstSequence], ['STREAM_STATUS_OPEN', '1']);
  });

  it('errors of Connect have the status of HTTP, our code and the time to wait', async () => {
    const table: [sent: Sent, status: number, code: string, word: string][] = [
      [{ body: '{"event":{}}' }, 400, 'VALIDATION_FAILED', 'invalid_argument'],
      [{ body: '{"event":{"action":"A.A","action":"B.B"}}' }, 400, 'VALIDATION_FAILED', 'invalid_argument'],
      [{ body: '{"event":' }, 400, 'MALFORMED_JSON', 'invalid_argument'],
      [{ body: '{"event":{},"more":1}' }, 400, 'VALIDATION_FAILED', 'invalid_argument'],
      [{ body: '{}', headers: { 'x-api-key': 'tsk_none' } }, 401, 'UNAUTHENTICATED', 'unauthenticated'],
      [{ path: '/tallystick.v1.EventsService/Nothing', body: '{}' }, 501, 'ROUTE_NOT_FOUND', 'unimplemented'],
      [{ body: '{}', headers: { 'connect-timeout-ms': 'soon' } }, 400, 'INVALID_HEADER', 'invalid_argument'],
      [
        { body: 'x', headers: { 'content-type': 'text/plain' } },
        415,
        'UNSUPPORTED_MEDIA_TYPE',
        'unimplemented',
      ],
    ];
    for (const [sent, httpStatus, code, word] of table) {
      const answer = await post({
        ...sent,
        headers: { 'content-type': 'application/json', ...sent.headers },
      });
      const told = (await answer.json()) as { code: string; details: { type: string; value: string }[] };
      const [info] = told.details;
      const text = Buffer.from(info!.value, 'base64').toString('latin1');
      assert.deepEqual(
        [answer.status, told.code, info!.type],
        [httpStatus, word, 'google.rpc.ErrorInfo'],
        code,
      );
      assert.ok(text.includes(code), `${code}: ${text}`);
    }
  });
});

describe('gRPC over HTTP/2', () => {
  const empty = frame(0, new Uint8Array());
  const problemOf = ({ head, trailers }: Heard) => ({ ...head, ...trailers });

  it('answers with trailers, a refusal with nothing but them, and unpacks what is compressed', async () => {
    const { head, trailers, body } = await ask({ headers: { 'x-correlation-id': 'c-1' } });
    assert.deepEqual(
      [head[':status'], head['content-type'], head['x-correlation-id']],
      [200, 'application/grpc', 'c-1'],
    );
    assert.deepEqual([trailers['grpc-status'], head['grpc-status']], ['0', undefined]);
    assert.match(String(messageJson(LIST.response, body.subarray(5), { textMax: 1e6 })), /^\{"data":\[\{/);
    const packed = frame(1, gzipSync(encodeMessage(LIST.request, { limit: 1 })));
    const unpacked = await ask({ headers: { 'grpc-encoding': 'gzip' }, body: packed });
    assert.equal(unpacked.trailers['grpc-status'], '0');
    const refused = await ask({ headers: { 'x-api-key': 'tsk_none' } });
    assert.deepEqual([refused.head['grpc-status'], refused.trailers['grpc-status']], ['16', undefined]);
  });

  it('refuses what is framed wrongly, too large, or compressed by other means', async () => {
    const large = frame(0, Buffer.alloc(LIMITS.requestBytesMax + 1));
    const bomb = frame(1, gzipSync(Buffer.alloc(64 * 1024 * 1024)));
    const table: [name: string, sent: Sent, code: string][] = [
      ['no frame', { body: Buffer.alloc(0) }, 'MALFORMED_JSON'],
      ['cut off', { body: Buffer.of(0, 0, 0, 0, 9, 1) }, 'MALFORMED_JSON'],
      ['two messages', { body: Buffer.concat([empty, empty]) }, 'MALFORMED_JSON'],
      ['no Protocol Buffers', { body: frame(0, Buffer.of(0x0f)) }, 'MALFORMED_JSON'],
      ['flags', { body: frame(4, new Uint8Array()) }, 'MALFORMED_JSON'],
      [
        'another encoding',
        { body: frame(1, new Uint8Array()), headers: { 'grpc-encoding': 'snappy' } },
        'UNSUPPORTED_MEDIA_TYPE',
      ],
      [
        'broken gzip',
        { body: frame(1, Buffer.of(1)), headers: { 'grpc-encoding': 'gzip' } },
        'MALFORMED_JSON',
      ],
      ['over the limit', { body: large }, 'REQUEST_TOO_LARGE'],
      ['a bomb', { body: bomb, headers: { 'grpc-encoding': 'gzip' } }, 'REQUEST_TOO_LARGE'],
      ['a bad time', { headers: { 'grpc-timeout': '1x' } }, 'INVALID_HEADER'],
      ['no such method', { path: '/tallystick.v9.EventsService/Get' }, 'ROUTE_NOT_FOUND'],
    ];
    for (const [name, sent, code] of table) {
      const told = problemOf(await ask(sent));
      const details = Buffer.from(String(told['grpc-status-details-bin']), 'base64').toString('latin1');
      assert.ok(details.includes(code), `${name}: ${JSON.stringify(told)} ${details}`);
      assert.ok(JSON.stringify(told).length < 8000, name);
    }
  });

  it('bounds the details of an error, and says its message in ASCII', async () => {
    const many = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`ä${i}`, 1]));
    const body = frame(0, Buffer.from(JSON.stringify({ event: { ...EVENT, ...many } })));
    const sent = { path: INGEST.path, headers: { 'content-type': 'application/grpc+json' }, body };
    const told = problemOf(await ask(sent));
    assert.equal(told['grpc-status'], '3');
    assert.ok(String(told['grpc-status-details-bin']).length < 7000);
    assert.match(String(told['grpc-message']), /^[\x20-\x7e]+$/);
  });

  it('stops when the time of the sender is over', async () => {
    const told = problemOf(await ask({ headers: { 'grpc-timeout': '1n' } }));
    assert.equal(told['grpc-status'], '4');
  });

  it('reads large batches away from this thread, the same as small ones', async () => {
    const batch = methodNamed('events.ingestBatch');
    const event: EventDraft = { ...EVENT, payload: { text: 'x'.repeat(2000) } } as never;
    const message = encodeMessage(batch.request, {
      batch: { events: Array.from({ length: 300 }, () => event) },
    });
    assert.ok(message.length > 500_000);
    const { body } = await ask({ path: batch.path, body: frame(0, message) });
    assert.match(
      String(messageJson(batch.response, body.subarray(5), { textMax: 1e6 })),
      /"successCount":300/,
    );
  });

  it('has a status for every code of the catalogue', () => {
    assert.deepEqual(
      ERROR_CODES.filter((code) => !(code in GRPC_STATUS_OF_ERROR)),
      [],
    );
    assert.equal(
      toBinary(
        registry.getMessage('tallystick.v1.StreamsServiceListRequest')!,
        create(registry.getMessage('tallystick.v1.StreamsServiceListRequest')!),
      ).length,
      0,
    );
  });
});
