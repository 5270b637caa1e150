// A key of the transit engine of HashiCorp Vault, or of OpenBao, which speaks the same interface. What is encrypted is bound by
// `associated_data`. A token comes from the settings, or from a file that is read for each call, so that an agent may renew it there; or
// the service logs in with its Kubernetes account, for each call anew: calls are so rare that no lease is worth keeping.

import { readFile } from 'node:fs/promises';
import { fromBase64, parseJson, toBase64 } from '@tallystick/evidence';
import type { BoundTo, RemoteKey } from '../keys/remote-key.ts';
import { OutboundError } from './http/outbound-error.ts';
import type { OutboundHttp } from './http/outbound-http.ts';
import { RemoteKeyError, said } from './remote-key-error.ts';

export interface VaultPlace {
  readonly address: string;
  /** Of the transit engine. */
  readonly mount: string;
  readonly namespace: string | undefined;
}

/** Where the token comes from. */
export type VaultLogin =
  | { readonly token: { reveal(): string } }
  | { readonly tokenFile: string }
  | { readonly role: string; readonly mount: string; readonly accountTokenFile: string };

export interface VaultParts {
  readonly place: VaultPlace;
  readonly key: string;
  readonly login: VaultLogin;
  readonly http: OutboundHttp;
  readonly timeoutMs?: number;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const TIMEOUT_MS = 5000;
const ANSWER_BYTES_MAX = 64 * 1024;

export function createVaultKey(parts: VaultParts): RemoteKey {
  const { place, key } = parts;
  const { address, mount } = place;
  const called = `the key ${mount}/${key} of Vault at ${URL.parse(address)?.origin ?? 'no URL'}`;
  const answered = async (verb: string, fields: object, name: string): Promise<string> => {
    const token = await tokenOf(parts, called);
    const answer = await post(parts, called, {
      path: `${mount}/${verb}/${encodeURIComponent(key)}`,
      body: fields,
      token,
    });
    if (answer.status !== 200) throw new RemoteKeyError(`${called} ${refusalIn(answer, verb)}`);
    return textAt(answer.body, ['data', name], called);
  };
  return {
    provider: 'Vault',
    async encrypt(bytes, boundTo) {
      const fields = { plaintext: toBase64(bytes), associated_data: associated(boundTo) };
      return new TextEncoder().encode(await answered('encrypt', fields, 'ciphertext'));
    },
    async decrypt(encrypted, boundTo) {
      const ciphertext = new TextDecoder().decode(encrypted);
      const fields = { ciphertext, associated_data: associated(boundTo) };
      return fromBase64(await answered('decrypt', fields, 'plaintext'));
    },
  };
}

async function tokenOf(parts: VaultParts, called: string): Promise<string> {
  const { login } = parts;
  if ('token' in login) return login.token.reveal();
  if ('tokenFile' in login) return tokenIn(login.tokenFile, called);
  const { role, mount, accountTokenFile } = login;
  const body = { role, jwt: await tokenIn(accountTokenFile, called) };
  const answer = await post(parts, called, { path: `auth/${mount}/login`, body });
  if (answer.status === 200) return textAt(answer.body, ['auth', 'client_token'], called);
  throw new RemoteKeyError(
    `${called} cannot be used: the login as ${role} by auth/${mount} is answered ${answerIn(answer)}`,
  );
}

async function tokenIn(file: string, called: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
    throw new RemoteKeyError(`${called} cannot be used: cannot read the token in ${file} (${code})`, {
      cause,
    });
  });
  const token = text.trim();
  // Anything else is no header, and the error of one would show it.
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new RemoteKeyError(`${called} cannot be used: there is no token in ${file}`);
}

async function post(
  { place, http, timeoutMs = TIMEOUT_MS }: VaultParts,
  called: string,
  { path, body, token }: { readonly path: string; readonly body: object; readonly token?: string },
): Promise<Answer> {
  const headers = {
    'content-type': 'application/json',
    'x-vault-request': 'true',
    ...(token === undefined ? {} : { 'x-vault-token': token }),
    ...(place.namespace === undefined ? {} : { 'x-vault-namespace': place.namespace }),
  };
  try {
    const { status, body: bytes } = await http.send({
      url: `${place.address.replace(/\/+$/, '')}/v1/${path}`,
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      answerBytesMax: ANSWER_BYTES_MAX,
      timeoutMs,
    });
    return { status, body: jsonOr(bytes) };
  } catch (cause) {
    if (!(cause instanceof OutboundError)) throw cause;
    throw new RemoteKeyError(`${called} cannot be asked: ${cause.message}`, { cause });
  }
}

function refusalIn(answer: Answer, verb: string): string {
  const answered = answerIn(answer);
  switch (answer.status) {
    case 400:
      return verb === 'decrypt'
        ? `does not open this: it was altered, or belongs to another key or keyring, or to a version that is gone (${answered})`
        : `does not seal this (${answered})`;
    case 403:
      return `must not be used with this token (${answered})`;
    case 404:
      return `is not there (${answered})`;
    case 503:
      return `cannot be used: Vault is sealed, or in maintenance (${answered})`;
    default:
      return `cannot be used: ${answered}`;
  }
}

function answerIn({ status, body }: Answer): string {
  const errors = fieldOf(body, 'errors');
  const texts = Array.isArray(errors) ? errors.filter((each) => typeof each === 'string') : [];
  return [String(status), said(texts.join('; '))].filter((each) => each !== '').join(' ');
}

function textAt(body: unknown, path: readonly string[], called: string): string {
  const found = path.reduce(fieldOf, body);
  if (typeof found === 'string') return found;
  throw new RemoteKeyError(`${called} gives an answer without ${path.join('.')}`);
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function jsonOr(bytes: Uint8Array): unknown {
  try {
    return parseJson(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

function associated(boundTo: BoundTo): string {
  return toBase64(new TextEncoder().encode(JSON.stringify(Object.entries(boundTo))));
}
