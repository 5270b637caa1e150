// P14 and P17 on the port of gRPC: connections that use HTTP/2 to exhaust something. Each is cut or refused, takes little memory, and
// a cheap GET beside it is answered in time. The control is a listener without the bounds.

import assert from 'node:assert/strict';
import { connect as connectHttp2, constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { AGAIN_MAX, Probe, WAIT_MS_MAX } from './probe.ts';
import { END_HEADERS, END_STREAM, FRAME, RawConnection, rawFrame, rawHeaders, rawText } from './raw-http2.ts';
import { KEY, type Service, startService, temporaryFolder } from './running.ts';
import { processorMs, residentMb } from './usage.ts';

/** However slow the machine is. */
const PATIENCE_MS = 60_000;
const GROWTH_MB_MAX = 150;
const CREDENTIALS = { 'x-api-key': KEY, 'x-tenant-id': 'acme' };
const HEALTH = '/grpc.health.v1.Health/Check';
const STREAM = '/tallystick.v1.EventsService/IngestStream';
const HEAD = {
  ':method': 'POST',
  ':scheme': 'http',
  ':authority': 'a',
  'content-type': 'application/grpc',
  te: 'trailers',
};
const headOf = (path: string) => rawHeaders({ ':path': path, ...HEAD, ...CREDENTIALS });
const NOTHING = Buffer.alloc(0);
/** A message of gRPC without bytes. */
const EMPTY = Buffer.alloc(5);

/** Numbers of streams that a client may open. */
const streams = (count: number) => Array.from({ length: count }, (_, i) => 2 * i + 1);

type Outcome = 'Cut' | 'Refused' | 'Held';
/** More is in order, too. */
const AT_LEAST: Readonly<Record<Outcome, readonly Outcome[]>> = {
  Cut: ['Cut'],
  Refused: ['Cut', 'Refused'],
  Held: ['Cut', 'Refused', 'Held'],
};

interface Attack {
  readonly name: string;
  /** Cut: the connection ends. Refused: a stream does. Held: nothing does, and it costs nobody anything. */
  readonly outcome: Outcome;
  readonly settings?: Uint8Array;
  readonly frames: () => readonly Uint8Array[];
}

const setting = (id: number, value: number) => {
  const bytes = Buffer.alloc(6);
  bytes.writeUInt16BE(id, 0);
  bytes.writeUInt32BE(value, 2);
  return bytes;
};
const INITIAL_WINDOW = 4;
const LARGEST_WINDOW = Buffer.of(0x7f, 0xff, 0xff, 0xff);

const ATTACKS: readonly Attack[] = [
  {
    name: 'calls that are reset at once',
    outcome: 'Cut',
    frames: () =>
      streams(20_000).flatMap((stream) => [
        rawFrame(FRAME.Headers, END_HEADERS | END_STREAM, stream, headOf(HEALTH)),
        rawFrame(FRAME.Reset, 0, stream, Buffer.of(0, 0, 0, constants.NGHTTP2_CANCEL)),
      ]),
  },
  {
    name: 'settings without end',
    outcome: 'Cut',
    frames: () => streams(200_000).map(() => rawFrame(FRAME.Settings, 0, 0, NOTHING)),
  },
  {
    name: 'settings of many entries',
    outcome: 'Cut',
    frames: () => [
      rawFrame(FRAME.Settings, 0, 0, Buffer.concat(streams(2000).map(() => setting(INITIAL_WINDOW, 65_535)))),
    ],
  },
  {
    name: 'pings without end',
    outcome: 'Cut',
    frames: () => streams(200_000).map(() => rawFrame(FRAME.Ping, 0, 0, Buffer.alloc(8))),
  },
  {
    name: 'a header that is remembered and named a thousand times',
    outcome: 'Refused',
    frames: () => {
      const remembered = Buffer.concat([Buffer.of(0x40), rawText('x'), rawText('y'.repeat(3900))]);
      const named = Buffer.alloc(4000, 0x80 | 62);
      return streams(100).map((stream) =>
        rawFrame(
          FRAME.Headers,
          END_HEADERS | END_STREAM,
          stream,
          Buffer.concat([headOf(HEALTH), ...(stream === 1 ? [remembered] : []), named]),
        ),
      );
    },
  },
  {
    name: 'headers that go on and on',
    outcome: 'Cut',
    frames: () => [
      rawFrame(FRAME.Headers, END_STREAM, 1, headOf(HEALTH)),
      ...streams(10_000).map((i) =>
        rawFrame(FRAME.Continuation, 0, 1, rawHeaders({ [`x-${i}`]: 'y'.repeat(1000) })),
      ),
    ],
  },
  {
    name: 'more calls at a time than are allowed',
    outcome: 'Refused',
    frames: () => streams(2000).map((stream) => rawFrame(FRAME.Headers, END_HEADERS, stream, headOf(STREAM))),
  },
  {
    name: 'calls whose answers may not be sent',
    outcome: 'Held',
    settings: setting(INITIAL_WINDOW, 0),
    frames: () =>
      streams(100).flatMap((stream) => [
        rawFrame(FRAME.Headers, END_HEADERS, stream, headOf(HEALTH)),
        rawFrame(FRAME.Data, END_STREAM, stream, EMPTY),
      ]),
  },
  {
    name: 'a window that is larger than one can be',
    outcome: 'Cut',
    frames: () => [1, 2].map(() => rawFrame(FRAME.WindowUpdate, 0, 0, LARGEST_WINDOW)),
  },
  {
    name: 'data without bytes, without end',
    outcome: 'Refused',
    frames: () => [
      rawFrame(FRAME.Headers, END_HEADERS, 1, headOf(STREAM)),
      ...streams(100_000).map(() => rawFrame(FRAME.Data, 0, 1, NOTHING)),
    ],
  },
  {
    name: 'a frame that is longer than frames may be',
    outcome: 'Cut',
    frames: () => [Buffer.of(0xff, 0xff, 0xff, FRAME.Data, 0, 0, 0, 0, 1)],
  },
];

interface Seen {
  readonly waitedMs: number;
  readonly grewMb: number;
  readonly outcome: Outcome;
}

async function attackOnce(
  { service, grpcPort, probe }: Target,
  attack: Attack,
  patienceMs = PATIENCE_MS,
): Promise<Seen> {
  const beganMb = residentMb(service);
  await probe.longestMs();
  const beganMs = processorMs(service);
  using connection = new RawConnection(grpcPort, attack.settings);
  await connection.send(attack.frames());
  const wasReset = () => (connection.came.get(FRAME.Reset) ?? 0) > 0;
  const hasEnded = () => connection.isOver || (attack.outcome === 'Refused' && wasReset());
  await connection.within(attack.outcome === 'Held' ? 500 : patienceMs, hasEnded);
  // What keeps others waiting for a second takes a second of the processor; the rest is what the machine does otherwise.
  const waitedMs = Math.min(await probe.longestMs(), processorMs(service) - beganMs);
  const outcome = connection.isOver ? 'Cut' : wasReset() ? 'Refused' : 'Held';
  return { waitedMs, grewMb: residentMb(service) - beganMb, outcome };
}

interface Target extends AsyncDisposable {
  readonly service: Service;
  readonly grpcPort: number;
  readonly probe: Probe;
}

async function startTarget(script?: string): Promise<Target> {
  const folder = temporaryFolder();
  const dataDirectory = join(folder.path, 'data');
  const service = await startService({
    dataDirectory,
    env: { Grpc__Port: '0' },
    ...(script !== undefined && { script }),
  });
  const grpcPort = Number(/gRPC is served.*?:(\d+)"/.exec(service.diagnostics())![1]);
  const probe = new Probe(`${service.url}/api/v1/health/live`);
  return {
    service,
    grpcPort,
    probe,
    async [Symbol.asyncDispose]() {
      await probe[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

describe('on the port of gRPC', () => {
  let target: Target;
  before(async () => {
    target = await startTarget();
  });
  after(() => target[Symbol.asyncDispose]());

  for (const attack of ATTACKS)
    it(`${attack.name}: ${attack.outcome.toLowerCase()}, and nobody waits`, async (test) => {
      const waited: number[] = [];
      for (let again = 0; ; again++) {
        const { waitedMs, grewMb, outcome } = await attackOnce(target, attack);
        test.diagnostic(`${outcome}, others waited ${waitedMs.toFixed(0)} ms, ${grewMb.toFixed(0)} MB`);
        assert.ok(AT_LEAST[attack.outcome].includes(outcome), outcome);
        assert.ok(grewMb < GROWTH_MB_MAX, `${grewMb} MB`);
        waited.push(waitedMs);
        if (waitedMs <= WAIT_MS_MAX) break;
        assert.ok(again < AGAIN_MAX, `others waited ${waited.join(', then ')} ms`);
      }
    });

  it('messages are refused whose length lies, and those that unpack to too much', async () => {
    const framed = (flags: number, length: number, bytes: Uint8Array) => {
      const head = Buffer.alloc(5);
      head[0] = flags;
      head.writeUInt32BE(length, 1);
      return Buffer.concat([head, bytes]);
    };
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    const [invalid, exhausted] = ['3', '8'];
    const sent: [path: string, body: Buffer, status: string][] = [
      ['Ingest', framed(0, 0xffff_ffff, NOTHING), invalid],
      ['Ingest', framed(0, 100, Buffer.alloc(10)), invalid],
      ['Ingest', framed(0, 1, Buffer.alloc(10)), invalid],
      ['Ingest', framed(1, bomb.length, bomb), exhausted],
      ['IngestStream', framed(0, 0xffff_ffff, NOTHING), exhausted],
      ['IngestStream', framed(0, 100, Buffer.alloc(10)), invalid],
      ['IngestStream', framed(1, bomb.length, bomb), exhausted],
    ];
    const beganMb = residentMb(target.service);
    for (const [method, body, status] of sent) {
      const session = connectHttp2(`http://127.0.0.1:${target.grpcPort}`);
      const stream = session.request({
        ...HEAD,
        'grpc-encoding': 'gzip',
        ':path': `/tallystick.v1.EventsService/${method}`,
        ...CREDENTIALS,
      });
      stream.on('error', () => {});
      const heard = new Promise<unknown>((resolve) => {
        const take = (headers: Record<string, unknown>) =>
          headers['grpc-status'] !== undefined && resolve(headers['grpc-status']);
        stream.on('response', take);
        stream.on('trailers', take);
        stream.on('close', () => resolve(undefined));
      });
      stream.resume();
      stream.end(body);
      assert.equal(await heard, status, `${method} of ${body.length} bytes, ${body.readUInt32BE(1)} said`);
      session.destroy();
    }
    assert.ok(residentMb(target.service) - beganMb < GROWTH_MB_MAX);
  });

  it('connections that send a byte now and then keep nobody waiting', async () => {
    const sockets: Socket[] = [];
    const pieces = [
      'PRI * HT',
      Buffer.concat([
        Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
        rawFrame(FRAME.Settings, 0, 0, NOTHING),
        rawFrame(FRAME.Headers, END_HEADERS, 1, headOf(STREAM)),
        Buffer.of(0, 0, 100, FRAME.Data),
      ]),
    ];
    for (let i = 0; i < 300; i++) {
      const socket = connect(target.grpcPort, '127.0.0.1');
      socket.on('error', () => {}).resume();
      socket.write(pieces[i % pieces.length]!);
      sockets.push(socket);
    }
    const drip = setInterval(() => sockets.forEach((each) => each.writable && each.write('\0')), 200);
    try {
      const waited: number[] = [];
      for (let again = 0; again <= AGAIN_MAX; again++) {
        await target.probe.longestMs();
        await new Promise((resolve) => setTimeout(resolve, 1500));
        waited.push(await target.probe.longestMs());
      }
      assert.ok(Math.min(...waited) <= WAIT_MS_MAX, `others waited ${waited.join(', then ')} ms`);
    } finally {
      clearInterval(drip);
      for (const socket of sockets) socket.destroy();
    }
  });
});

it('the control: beside a listener without the bounds others wait', async () => {
  await using unbounded = await startTarget(join(import.meta.dirname, 'processes/reads-all-frames.ts'));
  const [first] = ATTACKS;
  const fewer = { ...first!, frames: () => first!.frames().slice(0, 2000) };
  const { waitedMs } = await attackOnce(unbounded, fewer, 12_000);
  assert.ok(waitedMs > WAIT_MS_MAX, `others waited ${waitedMs} ms`);
});
