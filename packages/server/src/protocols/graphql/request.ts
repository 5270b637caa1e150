// What a request asks: the document with its variables, as the body of a POST or in the query of a GET (GraphQL over HTTP).

import type { IncomingMessage } from 'node:http';
import { type ErrorDetail, LIMITS } from '@tallystick/contract';
import type { Exchange } from '../http/mount.ts';
import { parseQueryString } from '../http/query.ts';
import {
  type BodyLimits,
  type BodyParts,
  type JsonBody,
  readJson,
  readJsonText,
} from '../input/json-body.ts';
import { refused } from './errors.ts';

export interface GraphqlRequest {
  readonly query: string;
  readonly operationName: string | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** The events of a batch stand so deep in the variables. */
const LEVELS_AROUND = 5;

/** All of it is read, whatever it is called: the types of the document say what it should be. */
const LIMITS_OF_BODY: BodyLimits = {
  bytesMax: LIMITS.requestBytesMax,
  timeoutMs: LIMITS.requestTimeoutMs,
  depthMax: LIMITS.nestingDepthMax + LEVELS_AROUND,
  violationsMax: LIMITS.errorDetailsMax,
  texts: undefined,
  schema: {},
};

const PARAMETERS = ['query', 'operationName', 'variables', 'extensions'];

export async function readRequest(
  { request, queryText }: Pick<Exchange, 'request' | 'queryText'>,
  sender: string,
  bodies: BodyParts,
): Promise<GraphqlRequest> {
  const sent =
    request.method === 'GET'
      ? await fromQuery(queryText, sender, bodies)
      : await fromBody(request, sender, bodies);
  return checked(sent);
}

async function fromBody(request: IncomingMessage, sender: string, bodies: BodyParts): Promise<unknown> {
  const body = await readJson({ request, sender }, LIMITS_OF_BODY, false, bodies);
  if (body === undefined) throw refused([{ field: 'query', issue: 'is required' }]);
  return soundValue(body);
}

async function fromQuery(text: string, sender: string, bodies: BodyParts): Promise<unknown> {
  const sent: Record<string, unknown> = {};
  for (const [name, texts] of parseQueryString(text)) {
    if (texts.length > 1) throw refused([{ field: name, issue: 'must be sent once' }]);
    const isJson = name === 'variables' || name === 'extensions';
    sent[name] = isJson ? await jsonIn(texts[0]!, sender, bodies) : texts[0];
  }
  return sent;
}

async function jsonIn(text: string, sender: string, bodies: BodyParts): Promise<unknown> {
  const source = { bytes: Buffer.from(text), sender, isKeyed: false };
  return soundValue(await readJsonText(source, LIMITS_OF_BODY, bodies));
}

function soundValue({ value, violations }: JsonBody): unknown {
  if (violations.length > 0) throw refused(violations);
  return value;
}

function checked(sent: unknown): GraphqlRequest {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) {
    const issue = 'must be an object with query; several requests in a list are not taken';
    throw refused([{ field: '', issue: `The body ${issue}` }]);
  }
  const { query, operationName, variables, extensions } = sent as Record<string, unknown>;
  const faults: ErrorDetail[] = [];
  const fault = (field: string, issue: string) => void faults.push({ field, issue });
  for (const name of Object.keys(sent)) {
    if (!PARAMETERS.includes(name)) fault(name, `is not known; known are ${PARAMETERS.join(', ')}`);
  }
  if (typeof query !== 'string' || query === '') fault('query', 'is required: a document as text');
  if (typeof operationName !== 'string' && isThere(operationName)) fault('operationName', 'must be text');
  if (isThere(variables) && !isMap(variables)) fault('variables', 'must be an object');
  if (isThere(extensions) && !isMap(extensions)) fault('extensions', 'must be an object');
  if (faults.length > 0) throw refused(faults);
  return {
    query: query as string,
    operationName: isThere(operationName) ? (operationName as string) : undefined,
    variables: isMap(variables) ? variables : {},
  };
}

const isThere = (value: unknown): boolean => value !== undefined && value !== null;

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
