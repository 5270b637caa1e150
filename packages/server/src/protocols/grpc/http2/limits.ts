// What a connection of HTTP/2 may cost. Each connection carries many calls, so there are fewer of them; what they may make the
// service hold or do without a call is bounded here, and clients learn most of it by the settings of the connection.

import type { ServerOptions } from 'node:http2';
import { LIMITS } from '@tallystick/contract';

export const CONNECTIONS_MAX = 1000;

/** As on the listener of HTTP: a connection without a call on which nothing passes is closed. */
export const STILL_MS = 80_000;

const KB = 1024;

export const SESSION_LIMITS: ServerOptions = {
  settings: {
    maxConcurrentStreams: 100,
    maxHeaderListSize: LIMITS.headerBlockBytesMax,
    initialWindowSize: 256 * KB,
    enablePush: false,
  },
  maxHeaderListPairs: 128,
  maxSendHeaderBlockLength: 64 * KB,
  // Megabytes of headers and settings; what is read of messages counts in the budget of bodies.
  maxSessionMemory: 8,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  maxOutstandingPings: 10,
  maxSettings: 32,
  // Both must be set, or neither counts: a client that opens calls only to reset them is cut off.
  streamResetBurst: 200,
  streamResetRate: 50,
  unknownProtocolTimeout: LIMITS.headersTimeoutMs,
};

/** Of a connection, for all its calls. */
export const SESSION_WINDOW_BYTES = 1024 * KB;
