// The SDK of the protocol, loaded with the first request or a moment after the service is ready. Only this file and server.ts
// know it. It is large, so the part that can be loaded by itself is a step of its own (P17).

import { findPackageJSON } from 'node:module';
import { join } from 'node:path';
import type * as sdk from '@modelcontextprotocol/server';
import { loadInSteps } from '../../runtime/load-in-steps.ts';

export type Sdk = typeof sdk;

let loading: Promise<Sdk> | undefined;

export function loadSdk(): Promise<Sdk> {
  loading ??= load();
  return loading;
}

async function load(): Promise<Sdk> {
  const own = findPackageJSON('@modelcontextprotocol/server', import.meta.url);
  const zod = own && findPackageJSON('zod', own);
  // Where it has other files, it comes with the SDK.
  if (zod !== undefined) await loadInSteps([join(zod, '../v4/index.js')]).catch(() => {});
  return import('@modelcontextprotocol/server');
}
