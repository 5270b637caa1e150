// gRPC on its own port, where the settings name one. It is loaded only then: HTTP/2 and the plans of all messages take a moment.

import type { Server } from 'node:net';
import type { TlsFiles } from '../config/tls-files.ts';
import type { Gateway } from '../gateway/pipeline.ts';
import type { DrainTimes } from '../protocols/http/drain.ts';
import { listen } from '../protocols/http/listen.ts';
import type { Senders } from '../protocols/http/senders.ts';
import type { BodyParts } from '../protocols/input/json-body.ts';
import { type LastingAnswers, STRANGERS_LIMITS } from '../protocols/streaming/lasting-answers.ts';
import type { Surroundings } from './surroundings.ts';

/** What the listeners share. */
export interface Entrance {
  readonly bodies: BodyParts;
  readonly senders: Senders;
  readonly lasting: LastingAnswers;
  readonly tls: TlsFiles | undefined;
}

export interface GrpcPort {
  /** None, where it is not served. */
  readonly servers: readonly Server[];
  /** Resolves with the port. */
  listen(): Promise<number | undefined>;
  /** Tells of connections that had to be cut. */
  drain(times: DrainTimes): Promise<void>;
}

const CLOSED: GrpcPort = {
  servers: [],
  listen: () => Promise.resolve(undefined),
  drain: () => Promise.resolve(),
};

export async function grpcOn(
  gateway: Gateway,
  { bodies, senders, lasting, tls }: Entrance,
  surroundings: Surroundings,
): Promise<GrpcPort> {
  const { config, clock, telemetry, tracing } = surroundings;
  const { port } = config.grpc;
  if (port === undefined) return CLOSED;
  const [{ createGrpcListener }, { drainGrpc }] = await Promise.all([
    import('../protocols/grpc/http2/listener.ts'),
    import('../protocols/grpc/http2/drain.ts'),
  ]);
  const calls = { gateway, bodies, lasting, strangers: lasting.apart(STRANGERS_LIMITS), telemetry };
  const listener = createGrpcListener({ calls, ids: surroundings, clock, senders, telemetry, tracing, tls });
  const { host } = config.server;
  return {
    servers: [listener.server],
    async listen() {
      const address = await listen(listener.server, { host, port }, 'Grpc__Port');
      telemetry.info('gRPC is served', { address });
      return Number(new URL(address).port);
    },
    async drain(times) {
      const connections = await drainGrpc(listener, times, clock);
      if (connections > 0) telemetry.warn('calls over gRPC took too long and were cut off', { connections });
    },
  };
}
