// Speaks REST: members of the input travel where the contract's binding says, over plain HTTP.

import {
  type AnswerKind,
  type ErrorBody,
  type Operation,
  type OperationName,
  operationNamed,
  placeOf,
  REST_STATUS_OF_ANSWER,
} from '@tallystick/contract';
import type { TestApp } from '../../../packages/server/src/testing/test-app.ts';
import type { Asking, Speaker, Spoken, Told } from '../speaker.ts';

export const REST: Spoken = {
  protocol: 'rest',
  versions: ['v1', 'v2'],
  speak: (app) => Promise.resolve(restSpeaker(app)),
};

export function restSpeaker({ url }: Pick<TestApp, 'url'>): Speaker {
  return {
    protocol: 'rest',
    versions: REST.versions,
    async ask(name, input, by = {}) {
      const operation: Operation<OperationName> = operationNamed(name);
      const { path, headers, body } = requestOf(operation, input, by);
      const { method } = operation.rest;
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { ...callHeaders(by), ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return toldBy(operation, response);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** The call as every protocol over HTTP has it. */
export function callHeaders(by: Asking): Record<string, string> {
  const headers: Record<string, string | undefined> = {
    'X-API-Key': by.key,
    Authorization: by.token === undefined ? undefined : `Bearer ${by.token}`,
    'X-Tenant-Id': by.tenant,
    'Idempotency-Key': by.idempotencyKey,
    'X-Correlation-Id': by.correlationId,
    traceparent: by.traceparent,
  };
  return Object.fromEntries(
    Object.entries(headers).filter((each): each is [string, string] => each[1] !== undefined),
  );
}

function requestOf(operation: Operation<OperationName>, input: object, { version = 'v1' }: Asking) {
  const { rest } = operation;
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  let path: string = rest.path;
  let body: unknown;
  for (const [member, value] of Object.entries(input)) {
    const place = placeOf(operation, member);
    if (place === 'Path') path = path.replace(new RegExp(`\\{${member}\\+?\\}`), encodeURI(String(value)));
    else if (place === 'Header') headers[rest.headers![member]!] = String(value);
    else if (place === 'Body') body = value;
    else for (const each of [value].flat()) query.append(member, String(each));
  }
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const prefix = rest.atRoot === true ? '' : `/api/${version}`;
  return { path: `${prefix}${path}${query.size === 0 ? '' : `?${query.toString()}`}`, headers, body };
}

async function toldBy(operation: Operation<OperationName>, response: Response): Promise<Told> {
  const headers = Object.fromEntries(response.headers);
  const text = await response.text();
  const body: unknown = text === '' ? undefined : JSON.parse(text);
  const { error, ...others } = (body ?? {}) as Partial<ErrorBody>;
  // A batch of which nothing was stored has an error beside its results.
  if (error !== undefined && Object.keys(others).length === 0) return { error, headers };
  const kind = kindOf(operation, response.status);
  if (operation.output.kind !== 'List') return { kind, body, headers };
  const { links: _, ...page } = body as { links: object };
  return { kind, body: page, headers };
}

function kindOf({ answers, name }: Operation<OperationName>, status: number): AnswerKind {
  const own = Object.keys(answers) as AnswerKind[];
  const kinds: AnswerKind[] = [...own.filter((kind) => kind !== 'Repeated'), 'Repeated'];
  const kind = kinds.find((each) => REST_STATUS_OF_ANSWER[each] === status);
  if (kind === undefined) throw new Error(`${name} is answered ${status}`);
  return kind;
}
