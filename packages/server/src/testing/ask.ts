// One request to a real service over real HTTP, and its answer; for tests.

import type { ErrorBody } from '@tallystick/contract';
import type { TestApp } from './test-app.ts';

export interface Asking {
  readonly key?: string;
  readonly tenant?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; text is sent as it is. */
  readonly body?: unknown;
}

export interface Told<T = unknown> {
  readonly status: number;
  /** `200`, or `403 FORBIDDEN`. */
  readonly code: string;
  readonly headers: Headers;
  readonly text: string;
  /** Of an answer in JSON, and else undefined. */
  readonly body: T;
}

export async function ask<T>(
  app: Pick<TestApp, 'url'>,
  method: string,
  path: string,
  { key, tenant, headers: more, body }: Asking = {},
): Promise<Told<T>> {
  const response = await fetch(`${app.url}${path}`, {
    method,
    headers: {
      'Content-Type': 'application/json',
      ...(key !== undefined && { 'X-API-Key': key }),
      ...(tenant !== undefined && { 'X-Tenant-Id': tenant }),
      ...more,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const { status, headers } = response;
  const text = await response.text();
  const isJson = headers.get('Content-Type')?.startsWith('application/json') ?? false;
  const answer = (isJson ? JSON.parse(text) : undefined) as T & Partial<ErrorBody>;
  return { status, code: `${status} ${answer?.error?.code ?? ''}`.trim(), headers, text, body: answer };
}
