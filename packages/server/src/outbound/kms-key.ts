// A key of AWS KMS, asked through the SDK of AWS, which finds credentials by its usual ways: environment, shared files, web identity
// (EKS), containers (ECS, EKS), instance metadata (EC2). The SDK is loaded where this provider is configured, and only there. What is
// encrypted is bound by the encryption context.

import type { BoundTo, RemoteKey } from '../keys/remote-key.ts';
import type { Clock } from '../runtime/clock.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { OutboundError } from './http/outbound-error.ts';
import type { OutboundHttp } from './http/outbound-http.ts';
import { RemoteKeyError, said } from './remote-key-error.ts';

type Sdk = typeof import('@aws-sdk/client-kms');
type Client = InstanceType<Sdk['KMSClient']>;

/** As the SDK hands it to what sends it. */
interface SdkRequest {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | string[] | null>>;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface KmsParts {
  /** Id, alias or ARN. */
  readonly keyId: string;
  /** Of a key that is no ARN; undefined: as the SDK finds it. */
  readonly region: string | undefined;
  /** Undefined: that of the region. */
  readonly endpoint: string | undefined;
  readonly http: OutboundHttp;
  readonly clock: Clock;
  readonly timeoutMs?: number;
  /** For tests: an installation without the SDK. */
  readonly load?: () => Promise<Sdk>;
}

/** With the way to credentials, and with the repeats of the SDK. */
const TIMEOUT_MS = 15_000;
const ANSWER_BYTES_MAX = 64 * 1024;
const ARN = /^arn:[\w-]+:kms:([a-z0-9-]+):/;

export function createKmsKey(parts: KmsParts): RemoteKey {
  const { keyId, timeoutMs = TIMEOUT_MS, clock } = parts;
  const called = `the key ${keyId} of AWS KMS`;
  let opened: ReturnType<typeof open> | undefined;
  const ask = async (work: (asked: Opened, abortSignal: AbortSignal) => Promise<Uint8Array | undefined>) => {
    // A failure is not kept: the next call loads again.
    opened ??= open(parts, called).catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    const asked = await opened;
    const tooLate = () =>
      new RemoteKeyError(`${called} cannot be asked: no whole answer within ${timeoutMs} ms`);
    try {
      const bytes = await withDeadline(clock, timeoutMs, tooLate, ({ signal }) => work(asked, signal));
      if (bytes === undefined) throw new RemoteKeyError(`${called} gives an answer without bytes`);
      return bytes;
    } catch (cause) {
      throw cause instanceof RemoteKeyError
        ? cause
        : new RemoteKeyError(`${called} ${refusalIn(cause)}`, { cause });
    }
  };
  return {
    provider: 'AwsKms',
    encrypt: (bytes, boundTo) =>
      ask(async ({ sdk, client }, abortSignal) => {
        const input = { KeyId: keyId, Plaintext: bytes, EncryptionContext: contextOf(boundTo) };
        return (await client.send(new sdk.EncryptCommand(input), { abortSignal })).CiphertextBlob;
      }),
    decrypt: (encrypted, boundTo) =>
      ask(async ({ sdk, client }, abortSignal) => {
        // The key is named, so that a ciphertext under somebody else's key does not pass, whatever else our role may use.
        const input = { KeyId: keyId, CiphertextBlob: encrypted, EncryptionContext: contextOf(boundTo) };
        return (await client.send(new sdk.DecryptCommand(input), { abortSignal })).Plaintext;
      }),
  };
}

interface Opened {
  readonly sdk: Sdk;
  readonly client: Client;
}

async function open(
  { keyId, region: named, endpoint, http, timeoutMs = TIMEOUT_MS, load = loadSdk }: KmsParts,
  called: string,
): Promise<Opened> {
  const sdk = await load().catch((cause: unknown) => {
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    throw new RemoteKeyError(
      `${called} needs the package @aws-sdk/client-kms, which cannot be loaded (${said(why)}): install it beside tallystick`,
      { cause },
    );
  });
  const region = ARN.exec(keyId)?.[1] ?? named;
  const client = new sdk.KMSClient({
    requestHandler: handlerOver(http, timeoutMs),
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
  });
  return { sdk, client };
}

const loadSdk = (): Promise<Sdk> => import('@aws-sdk/client-kms');

/** The requests of the SDK by our way out, with its rules and limits. */
function handlerOver(http: OutboundHttp, timeoutMs: number) {
  return {
    async handle(request: SdkRequest, { abortSignal }: { readonly abortSignal?: unknown } = {}) {
      const { protocol, hostname, port, path, query = {}, method, headers, body } = request;
      const url = new URL(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`);
      for (const [name, values] of Object.entries(query))
        for (const value of [values ?? ''].flat()) url.searchParams.append(name, value);
      const answer = await http.send({
        url: url.href,
        method: method === 'GET' ? 'GET' : 'POST',
        headers,
        ...(body === undefined
          ? {}
          : { body: typeof body === 'string' ? body : new TextDecoder().decode(body) }),
        answerBytesMax: ANSWER_BYTES_MAX,
        timeoutMs,
        ...(abortSignal instanceof AbortSignal ? { signal: abortSignal } : {}),
      });
      const told = Object.entries(answer.headers).map(([name, value]) => [
        name,
        [value ?? ''].flat().join(', '),
      ]);
      const response = { statusCode: answer.status, headers: Object.fromEntries(told), body: answer.body };
      return { response };
    },
  };
}

function refusalIn(cause: unknown): string {
  if (cause instanceof OutboundError) return `cannot be asked: ${cause.message}`;
  const { name, message } = cause instanceof Error ? cause : new Error(String(cause));
  const isUnsaid = message === '' || message === 'UnknownError';
  const answered = said(isUnsaid ? name : name === 'Error' ? message : `${name}: ${message}`);
  switch (name) {
    case 'InvalidCiphertextException':
      return `does not open this: it was altered, or belongs to another key or keyring (${answered})`;
    case 'IncorrectKeyException':
      return `has not sealed this: another key has (${answered})`;
    case 'AccessDeniedException':
    case 'UnrecognizedClientException':
    case 'InvalidSignatureException':
    case 'ExpiredTokenException':
      return `must not be used with these credentials (${answered})`;
    case 'NotFoundException':
      return `is not there (${answered})`;
    default:
      return `cannot be used: ${answered}`;
  }
}

function contextOf(boundTo: BoundTo): Record<string, string> {
  return { ...boundTo };
}
