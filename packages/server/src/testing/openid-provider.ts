// A real OpenID provider on loopback (`oidc-provider`, which is certified as one): it issues access tokens to a client that it
// knows, and publishes its keys. It can change its keys at the same address, and misbehave; it counts what is asked for.

import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';

export interface ProviderKey {
  readonly kid: string;
  readonly alg: 'ES256' | 'RS256' | 'EdDSA';
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export function providerKey(kid: string, alg: ProviderKey['alg'] = 'ES256', rsaBits = 2048): ProviderKey {
  const pair =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : alg === 'RS256'
        ? generateKeyPairSync('rsa', { modulusLength: rsaBits })
        : generateKeyPairSync('ed25519');
  return { kid, alg, ...pair };
}

export type Misbehaviour = 'fails' | 'cuts' | 'redirects' | 'floods' | 'lies' | 'no JSON';

/** What of the library is used here. */
interface Library {
  readonly default: new (
    issuer: string,
    configuration: object,
  ) => { callback(): (request: IncomingMessage, response: ServerResponse) => void };
}

const CLIENT = { id: 'producer', secret: 'the-secret-of-the-producer' };

/** Its tokens are signed, so it has nothing to keep. */
class NothingKept {
  upsert(): void {}
  find(): void {}
  consume(): void {}
  destroy(): void {}
  revokeByGrantId(): void {}
}

export interface ProviderFacts {
  readonly audience: string;
  readonly keys: readonly ProviderKey[];
  /** Of the access tokens. */
  readonly algorithm?: ProviderKey['alg'];
}

export class OpenIdProvider implements AsyncDisposable {
  readonly #audience: string;
  readonly #server = createServer((request, response) => this.#answer(request, response));
  #answerWell: (request: IncomingMessage, response: ServerResponse) => void = () => {};
  #algorithm: ProviderKey['alg'];
  #claims: object = {};
  issuer = '';
  /** Undefined: it does what it should. */
  misbehaves: Misbehaviour | undefined;
  /** Paths of the requests for its keys, and for where they are. */
  readonly asked: string[] = [];

  private constructor({ audience, algorithm = 'ES256' }: ProviderFacts) {
    this.#audience = audience;
    this.#algorithm = algorithm;
  }

  static async start(facts: ProviderFacts): Promise<OpenIdProvider> {
    const provider = new OpenIdProvider(facts);
    await new Promise<void>((resolve) => provider.#server.listen(0, '127.0.0.1', resolve));
    provider.issuer = `http://127.0.0.1:${(provider.#server.address() as AddressInfo).port}`;
    provider.publish(facts.keys);
    return provider;
  }

  /** The first of an algorithm is what it signs with. */
  publish(keys: readonly ProviderKey[]): void {
    const { default: Provider } = createRequire(import.meta.url)('oidc-provider') as Library;
    const provider = new Provider(this.issuer, {
      jwks: {
        keys: keys.map(({ privateKey, kid, alg }) => ({
          ...privateKey.export({ format: 'jwk' }),
          kid,
          alg,
          use: 'sig',
        })),
      },
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
          id_token_signed_response_alg: this.#algorithm,
        },
      ],
      adapter: NothingKept,
      ttl: { ClientCredentials: 600 },
      scopes: ['audit:read', 'audit:write'],
      extraTokenClaims: () => this.#claims,
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: () => ({
            scope: 'audit:read audit:write',
            audience: this.#audience,
            accessTokenFormat: 'jwt',
            accessTokenTTL: 600,
            jwt: { sign: { alg: this.#algorithm } },
          }),
        },
      },
    });
    this.#answerWell = provider.callback();
  }

  /** An access token as its client gets it, with these claims besides. */
  async issue(claims: object, scope = 'audit:read audit:write'): Promise<string> {
    this.#claims = claims;
    const response = await fetch(`${this.issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${CLIENT.id}:${CLIENT.secret}`)}` },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        resource: 'urn:audit',
        ...(scope !== '' && { scope }),
      }),
    });
    const answer = (await response.json()) as { access_token?: string };
    if (answer.access_token === undefined) throw new Error(`no token: ${JSON.stringify(answer)}`);
    return answer.access_token;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url!;
    const isAboutKeys = path === '/jwks' || path.startsWith('/.well-known/');
    if (isAboutKeys) this.asked.push(path);
    if (!isAboutKeys || this.misbehaves === undefined) return this.#answerWell(request, response);
    if (this.misbehaves === 'fails') response.writeHead(500).end();
    else if (this.misbehaves === 'cuts') request.socket.destroy();
    else if (this.misbehaves === 'redirects') response.writeHead(302, { location: '/jwks' }).end();
    else if (this.misbehaves === 'floods') response.end(`${' '.repeat(300 * 1024)}{"keys":[]}`);
    else if (this.misbehaves === 'lies')
      response.end('{"issuer":"https://evil.test","jwks_uri":"https://evil.test/","keys":5}');
    else response.end('<html>Sign in</html>');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
