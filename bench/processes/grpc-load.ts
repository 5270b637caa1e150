// The load of load.ts over gRPC: single calls, or batches in streams. It speaks HTTP/2 by itself with messages that were made
// beforehand, because a whole client would cost more than what it measures. Settings arrive as JSON in the first argument.

import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { frame } from '../../packages/server/src/protocols/grpc/frames.ts';
import { encodeMessage } from '../../packages/server/src/protocols/protobuf/encode.ts';
import { WireReader } from '../../packages/server/src/protocols/protobuf/reader.ts';
import { interfaceOf } from '../../packages/server/src/protocols/protobuf/wire-form.ts';
import { standardEvent } from '../standard-event.ts';
import { BODIES, observed, type Tell } from './observed.ts';

export interface GrpcLoad {
  readonly port: number;
  readonly method: 'Ingest' | 'IngestStream';
  readonly connections: number;
  /** Calls on each connection that are under way at a time. */
  readonly calls: number;
  /** Batches of a stream that are sent and not answered yet. */
  readonly ahead: number;
  readonly eventsPerRequest: number;
  readonly durationMs: number;
  readonly tenant: string;
  readonly apiKey: string;
}

/** Of the window of a connection: the default of 64 KB makes the client wait for every batch. */
const WINDOW_BYTES = 4 * 1024 * 1024;

const load = JSON.parse(process.argv[2]!) as GrpcLoad;
await observed(load, (tell) => {
  const { path, frames, failed } = messagesOf(load);
  let next = 0;
  const nextFrame = () => frames[next++ % frames.length]!;
  const sessions = Array.from({ length: load.connections }, () => {
    const session = connect(`http://127.0.0.1:${load.port}`);
    session.on('connect', () => session.setLocalWindowSize(WINDOW_BYTES));
    const head = {
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc+proto',
      te: 'trailers',
      'x-api-key': load.apiKey,
      'x-tenant-id': load.tenant,
    };
    for (let call = 0; call < load.calls; call++) {
      if (load.method === 'IngestStream')
        keepStreaming(session.request(head), load.ahead, nextFrame, failed, tell);
      else keepCalling(session, head, nextFrame, tell);
    }
    return session;
  });
  return () => sessions.forEach((session) => session.destroy());
});

function messagesOf({ method, eventsPerRequest }: GrpcLoad) {
  const { request, response, path } = interfaceOf('v1').methods.find((each) => each.method === method)!;
  const frames = Array.from({ length: BODIES }, (_, message) => {
    const events = Array.from({ length: eventsPerRequest }, (_unused, i) =>
      standardEvent(message * eventsPerRequest + i),
    );
    return frame(
      0,
      encodeMessage(request, method === 'Ingest' ? { event: events[0] } : { batch: { events } }),
    );
  });
  const error = response.fields.find(({ name }) => name === 'error')?.number;
  const failed = (message: Uint8Array) => {
    const wire = new WireReader(message);
    while (wire.pos < wire.end) {
      const tag = wire.tag();
      if (tag >>> 3 === error) return true;
      wire.pass(tag);
    }
    return false;
  };
  return { path, frames, failed };
}

/** Sends as many batches ahead as it may, and another one for each that is answered. */
function keepStreaming(
  stream: ClientHttp2Stream,
  ahead: number,
  nextFrame: () => Buffer,
  failed: (message: Uint8Array) => boolean,
  tell: Tell,
): void {
  const sentAt: number[] = [];
  const send = () => {
    sentAt.push(performance.now());
    stream.write(nextFrame());
  };
  let rest: Buffer = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
      const end = 5 + rest.readUInt32BE(1);
      const isRefused = failed(rest.subarray(5, end));
      rest = rest.subarray(end);
      tell(performance.now() - sentAt.shift()!, isRefused ? 'in the answer' : undefined);
      send();
    }
  });
  stream.on('trailers', (trailers) => tell(0, `status ${String(trailers['grpc-status'])}`));
  stream.on('error', (error) => tell(0, error.message));
  for (let i = 0; i < ahead; i++) send();
}

function keepCalling(session: ClientHttp2Session, head: object, nextFrame: () => Buffer, tell: Tell): void {
  const call = () => {
    const startedAt = performance.now();
    const stream = session.request({ ...head });
    stream.on('trailers', (trailers) => {
      const status = String(trailers['grpc-status']);
      tell(performance.now() - startedAt, status === '0' ? undefined : `status ${status}`);
    });
    stream.on('error', (error) => tell(0, error.message));
    stream.on('close', () => {
      if (!session.destroyed) call();
    });
    stream.resume();
    stream.end(nextFrame());
  };
  call();
}
