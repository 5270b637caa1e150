// A stand-in for AWS KMS, which really encrypts: its JSON protocol, keys by ARN, id and alias, encryption contexts, and the
// errors of the real one. Of a signature it looks at the name of who has signed.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { type JsonAnswer, type JsonRequest, JsonServer } from './json-server.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ID_BYTES = 36;

export class KmsServer implements AsyncDisposable {
  readonly region = 'eu-central-1';
  readonly keys = new Map<string, Buffer>();
  /** Which key an alias names now. */
  readonly aliases = new Map<string, string>();
  /** Access keys that may use all keys. */
  readonly allowed = new Set(['AKIDGOOD']);
  /** What was asked, as the header says. */
  readonly asked: string[] = [];
  /** The encryption contexts that were sent. */
  readonly contexts: unknown[] = [];
  #server: JsonServer | undefined;
  #made = 0;

  static async start(): Promise<KmsServer> {
    const kms = new KmsServer();
    kms.#server = await JsonServer.start((request) => kms.#answer(request));
    return kms;
  }

  get url(): string {
    return this.#server!.url;
  }

  get server(): JsonServer {
    return this.#server!;
  }

  /** Returns the ARN. */
  makeKey(): string {
    const id = `00000000-0000-4000-8000-${String(++this.#made).padStart(12, '0')}`;
    this.keys.set(id, randomBytes(32));
    return this.#arn(id);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server!.goAway();
  }

  #arn(id: string): string {
    return `arn:aws:kms:${this.region}:111122223333:key/${id}`;
  }

  #answer({ headers, body }: JsonRequest): JsonAnswer {
    const asked = String(headers['x-amz-target']);
    this.asked.push(asked);
    const [, caller = '', region] =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/\d{8}\/([^/]+)\/kms\/aws4_request, .*Signature=[0-9a-f]{64}$/.exec(
        headers.authorization ?? '',
      ) ?? [];
    if (region !== this.region)
      return refused('InvalidSignatureException', 'Credential should be scoped to a valid region.');
    if (!this.allowed.has(caller))
      return refused('AccessDeniedException', `User ${caller} is not authorized to perform: kms:Encrypt`);
    const named = String(body['KeyId']);
    const id = (this.aliases.get(named) ?? named).replace(/^arn:.*:key\//, '');
    const key = this.keys.get(id);
    if (key === undefined) return refused('NotFoundException', `Key '${named}' does not exist`);
    const context = body['EncryptionContext'] as unknown as Readonly<Record<string, string>>;
    this.contexts.push(context);
    const data = Buffer.from(
      JSON.stringify(
        Object.keys(context)
          .toSorted()
          .map((name) => [name, context[name]]),
      ),
    );
    if (asked === 'TrentService.Encrypt') return this.#encrypted(id, key, body, data);
    if (asked === 'TrentService.Decrypt') return this.#decrypted(id, key, body, data);
    return refused('UnknownOperationException', '');
  }

  #encrypted(id: string, key: Buffer, { Plaintext }: JsonRequest['body'], data: Buffer): JsonAnswer {
    const plain = Buffer.from(String(Plaintext), 'base64');
    if (plain.length > 4096)
      return refused('ValidationException', 'Member must have length less than or equal to 4096');
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(data);
    const bytes = Buffer.concat([
      Buffer.from(id),
      nonce,
      cipher.update(plain),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    return { status: 200, body: { CiphertextBlob: bytes.toString('base64'), KeyId: this.#arn(id) } };
  }

  #decrypted(id: string, key: Buffer, { CiphertextBlob }: JsonRequest['body'], data: Buffer): JsonAnswer {
    const bytes = Buffer.from(String(CiphertextBlob), 'base64');
    const sealedBy = bytes.subarray(0, ID_BYTES).toString();
    if (!this.keys.has(sealedBy)) return refused('InvalidCiphertextException', '');
    if (sealedBy !== id)
      return refused(
        'IncorrectKeyException',
        'The key ID in the request does not identify a CMK that can perform this operation.',
      );
    const box = bytes.subarray(ID_BYTES);
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, box.subarray(0, NONCE_BYTES)).setAAD(data);
      decipher.setAuthTag(box.subarray(-TAG_BYTES));
      const plain = Buffer.concat([decipher.update(box.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
      return { status: 200, body: { Plaintext: plain.toString('base64'), KeyId: this.#arn(id) } };
    } catch {
      return refused('InvalidCiphertextException', '');
    }
  }
}

function refused(type: string, message: string): JsonAnswer {
  return { status: 400, body: { __type: type, ...(message === '' ? {} : { message }) } };
}
