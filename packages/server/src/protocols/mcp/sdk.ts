// The SDK of the protocol, loaded with the first request: a start need not wait for it. Only this file and server.ts know it.

import type * as sdk from '@modelcontextprotocol/server';

export type Sdk = typeof sdk;

let loading: Promise<Sdk> | undefined;

export function loadSdk(): Promise<Sdk> {
  loading ??= import('@modelcontextprotocol/server');
  return loading;
}
