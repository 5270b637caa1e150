// A stand-in for the transit engine of a Vault, which really encrypts: keys with versions, associated data, tokens, a namespace, the login
// with a Kubernetes account, and the answers of a Vault that is sealed.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { type JsonAnswer, type JsonRequest, JsonServer } from './json-server.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const INVALID = 'cipher: message authentication failed';

export class VaultServer implements AsyncDisposable {
  readonly mount: string;
  /** Versions of each key, from 1. */
  readonly keys = new Map<string, Buffer[]>();
  readonly tokens = new Set(['s.good']);
  /** By role: the account token that logs in. */
  readonly roles = new Map<string, string>();
  /** Paths that were asked for. */
  readonly asked: string[] = [];
  namespace: string | undefined;
  isSealed = false;
  #server: JsonServer | undefined;
  #logins = 0;

  private constructor(mount: string) {
    this.mount = mount;
  }

  static async start(mount = 'transit'): Promise<VaultServer> {
    const vault = new VaultServer(mount);
    vault.rotate('tallystick');
    vault.#server = await JsonServer.start((request) => vault.#answer(request));
    return vault;
  }

  get url(): string {
    return this.#server!.url;
  }

  get server(): JsonServer {
    return this.#server!;
  }

  /** A further version of a key, or a first one. */
  rotate(key: string): void {
    this.keys.set(key, [...(this.keys.get(key) ?? []), randomBytes(32)]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server!.goAway();
  }

  #answer({ path, headers, body }: JsonRequest): JsonAnswer {
    this.asked.push(path);
    if (this.isSealed) return refused(503, 'Vault is sealed');
    if (headers['x-vault-namespace'] !== this.namespace)
      return refused(404, `no handler for route "${path}"`);
    const [, , ...parts] = path.split('/');
    if (parts[0] === 'auth') return this.#login(body);
    if (!this.tokens.has(String(headers['x-vault-token']))) return refused(403, 'permission denied');
    const [verb, key = ''] = parts.slice(this.mount.split('/').length);
    if (parts.join('/') !== `${this.mount}/${verb}/${key}`)
      return refused(404, `no handler for route "${path}"`);
    const versions = this.keys.get(key);
    // A Vault makes a key for one who may make keys; this token may not.
    if (versions === undefined) return refused(verb === 'encrypt' ? 403 : 400, 'encryption key not found');
    const data = Buffer.from(body['associated_data'] ?? '', 'base64');
    return verb === 'encrypt'
      ? encrypted(versions, Buffer.from(String(body['plaintext']), 'base64'), data)
      : decrypted(versions, String(body['ciphertext']), data);
  }

  #login({ role, jwt }: JsonRequest['body']): JsonAnswer {
    if (this.roles.get(String(role)) !== jwt) return refused(403, 'permission denied');
    const token = `s.login${++this.#logins}`;
    this.tokens.add(token);
    return { status: 200, body: { auth: { client_token: token, lease_duration: 60 } } };
  }
}

function encrypted(versions: readonly Buffer[], plain: Buffer, data: Buffer): JsonAnswer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', versions.at(-1)!, nonce).setAAD(data);
  const bytes = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  const ciphertext = `vault:v${versions.length}:${bytes.toString('base64')}`;
  return { status: 200, body: { data: { ciphertext, key_version: versions.length } } };
}

function decrypted(versions: readonly Buffer[], ciphertext: string, data: Buffer): JsonAnswer {
  const [, version, text] = /^vault:v(\d+):([A-Za-z0-9+/=]+)$/.exec(ciphertext) ?? [];
  if (text === undefined) return refused(400, 'invalid ciphertext: no prefix');
  const key = versions[Number(version) - 1];
  if (key === undefined) return refused(400, 'invalid ciphertext: version is too new');
  const bytes = Buffer.from(text, 'base64');
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES)).setAAD(data);
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const plain = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    return { status: 200, body: { data: { plaintext: plain.toString('base64') } } };
  } catch {
    return refused(400, INVALID);
  }
}

function refused(status: number, error: string): JsonAnswer {
  return { status, body: { errors: [error] } };
}
