// What several settings must fulfil together. A rule is judged wherever what it asks about is known, however wrong the
// other settings are, so that one start reports all there is to mend; and none is judged by what nobody wrote.

import { ConfigError } from './config-error.ts';
import { isLoopbackUrl } from './loopback-url.ts';
import type { Config } from './settings.ts';

/** What the operator wrote, as far as a rule may rely on it. */
export interface WrittenSettings {
  readonly config: Config;
  /** It was written, rightly or not, or a name was that is close to it. */
  readonly isGiven: (name: string) => boolean;
  /** It was written wrongly, or only under a name that is close to it: the configuration has a default instead. */
  readonly isWrong: (name: string) => boolean;
}

/** What is wrong, if anything. */
type Rule = (written: WrittenSettings) => string | readonly string[] | undefined;

/** One line for each rule that is broken. */
export function brokenRules(written: WrittenSettings): string[] {
  return RULES.flatMap((rule) => rule(written) ?? []);
}

/** What serving needs, and `recover`, which works on what is served; other commands do without. Throws ConfigError. */
export function requireServable({ environment, storage, log, encryption }: Config): void {
  if (environment !== 'Production' || storage.url === undefined) return;
  const problems = [];
  if (log.anchor === undefined)
    problems.push(
      'Log__Anchor is missing; on PostgreSQL in Production it must name a directory that all nodes share, out of reach of the database and of its backups',
    );
  // Also where no content is encrypted: secrets that callers store always are.
  if (encryption.keyring === undefined)
    problems.push(
      'Encryption__Keyring is missing; on PostgreSQL in Production it must name a file that all nodes share, out of reach of the database and of its backups',
    );
  if (problems.length > 0) throw new ConfigError(problems);
}

const RULES: readonly Rule[] = [
  (written) => ofDatabase(written, 'Storage__OwnerUrl', 'it is the owner of that database'),
  (written) => ofDatabase(written, 'Storage__IndexUrl', 'it is another login to that database'),
  (written) => ofDatabase(written, 'Storage__RetentionUrl', 'it is another login to that database'),
  distributedDatabase,
  encryptedClasses,
  previousProvider,
  kmsWhole,
  vaultWhole,
  keyringProvidersOverTls,
  tlsWhole,
  portsApart,
  limitGiven,
  timeScaleForTests,
  freeSpaceInOrder,
  providersOverTls,
  (written) => datesInOrder(written, 'v1'),
  (written) => datesInOrder(written, 'v2'),
];

function ofDatabase({ isGiven }: WrittenSettings, name: string, what: string): string | undefined {
  if (!isGiven(name) || isGiven('Storage__Url')) return undefined;
  return `${name} is given without Storage__Url; ${what}`;
}

function distributedDatabase({ config, isGiven }: WrittenSettings): string | undefined {
  if (!config.storage.distribute || isGiven('Storage__Url')) return undefined;
  return 'Storage__Distribute is true without Storage__Url; only the tables of a database can be spread over machines';
}

function encryptedClasses({ config: { encryption } }: WrittenSettings): string | undefined {
  const { classifications } = encryption;
  const whole = classifications.find((each) => each === 'All' || each === 'None');
  if (whole === undefined || classifications.length === 1) return undefined;
  return `Encryption__Classifications: ${whole} stands beside others; it stands alone`;
}

function previousProvider({ config: { encryption }, isGiven, isWrong }: WrittenSettings): string | undefined {
  const { provider, previousProvider: previous } = encryption;
  const [before, key] = ['Encryption__PreviousProvider', 'Encryption__PreviousKey'];
  if (!isGiven(before) && isGiven(key))
    return `${key} is given without ${before}; it is a key of that provider`;
  if (previous === undefined || isWrong('Encryption__Provider')) return undefined;
  if (previous === 'File' && isGiven(key)) return `${key} is given, and ${before} is File, which has no key`;
  if (previous !== provider || (previous !== 'File' && isGiven(key))) return undefined;
  return `${before}: ${previous} is also Encryption__Provider; ${previous === 'File' ? 'leave it out' : `name the key that it had by ${key}`}`;
}

/** Whether the keyring is, or may have been, sealed by it. */
function isUsed({ config: { encryption } }: WrittenSettings, provider: string): boolean {
  return encryption.provider === provider || encryption.previousProvider === provider;
}

/** Not where the provider is the previous one alone and its key is named as that. */
function lacksKey(written: WrittenSettings, provider: string, setting: string): boolean {
  const { config, isGiven } = written;
  if (!isUsed(written, provider) || isGiven(setting)) return false;
  return config.encryption.provider === provider || !isGiven('Encryption__PreviousKey');
}

function kmsWhole(written: WrittenSettings): string | undefined {
  if (!lacksKey(written, 'AwsKms', 'Encryption__AwsKms__KeyId')) return undefined;
  return 'Encryption__AwsKms__KeyId is missing; AwsKms needs the ARN, the id or an alias of a key';
}

function vaultWhole(written: WrittenSettings): string[] {
  if (!isUsed(written, 'Vault')) return [];
  const lines: string[] = [];
  const [address, key] = ['Encryption__Vault__Address', 'Encryption__Vault__Key'];
  if (!written.isGiven(address)) lines.push(`${address} is missing; Vault needs it`);
  if (lacksKey(written, 'Vault', key)) lines.push(`${key} is missing; Vault needs it`);
  const ways = ['Token', 'TokenFile', 'Kubernetes__Role'].map((way) => `Encryption__Vault__${way}`);
  const given = ways.filter(written.isGiven);
  if (given.length === 0) lines.push(`${ways.join(', ')}: one of them is missing; Vault needs a token`);
  if (given.length > 1)
    lines.push(`${given.join(', ')}: only one of them can say where the token comes from`);
  return lines;
}

function keyringProvidersOverTls(written: WrittenSettings): string[] {
  const { awsKms, vault } = written.config.encryption;
  return [
    ...(isUsed(written, 'AwsKms') ? plainHttp(written, 'Encryption__AwsKms__Endpoint', awsKms.endpoint) : []),
    ...(isUsed(written, 'Vault') ? plainHttp(written, 'Encryption__Vault__Address', vault.address) : []),
  ].map(({ line, otherwise }) => `${line}; a provider of the keyring needs https${otherwise}`);
}

function tlsWhole({ isGiven }: WrittenSettings): string | undefined {
  const [certificate, key] = ['Server__Tls__Certificate', 'Server__Tls__Key'];
  if (isGiven(certificate) === isGiven(key)) return undefined;
  const [given, missing] = isGiven(certificate) ? [certificate, key] : [key, certificate];
  return `${given} is given without ${missing}; TLS needs both`;
}

function portsApart({ config: { grpc, server }, isWrong }: WrittenSettings): string | undefined {
  if (isWrong('Grpc__Port') || isWrong('Server__Port')) return undefined;
  if (grpc.port === undefined || grpc.port === 0 || grpc.port !== server.port) return undefined;
  return `Grpc__Port: ${grpc.port} is also Server__Port; gRPC needs a port of its own`;
}

function limitGiven({ config: { rateLimiting }, isGiven }: WrittenSettings): string | undefined {
  // Written wrongly, the switch is off here, as by default.
  if (!rateLimiting.enableRateLimiting || isGiven('RateLimiting__GlobalLimiter__PermitLimit'))
    return undefined;
  return 'RateLimiting__GlobalLimiter__PermitLimit is missing; RateLimiting__EnableRateLimiting needs it (a whole number, at least 1)';
}

/** With it a consumer would be asked again at once, and its deliveries would not wait for it. */
function timeScaleForTests({ config: { environment, webhooks } }: WrittenSettings): string | undefined {
  if (webhooks.timeScale === 1 || environment === 'Test') return undefined;
  return `Webhooks__TimeScale is ${webhooks.timeScale}; it may differ from 1 only where Environment is Test, and Environment is ${environment}`;
}

function freeSpaceInOrder({ config: { health }, isWrong }: WrittenSettings): string | undefined {
  const [degraded, unhealthy] = ['Health__FreeMebibytesDegraded', 'Health__FreeMebibytesUnhealthy'];
  if (isWrong(degraded) || isWrong(unhealthy)) return undefined;
  if (health.freeMebibytesUnhealthy <= health.freeMebibytesDegraded) return undefined;
  return `${unhealthy} is ${health.freeMebibytesUnhealthy}, above ${degraded} ${health.freeMebibytesDegraded}; the service is Degraded before it is Unhealthy`;
}

function providersOverTls(written: WrittenSettings): string[] {
  return written.config.authentication.issuers.flatMap(({ issuer, jwksUri }, index) => {
    const [name, asked] = jwksUri === undefined ? ['Issuer', issuer] : ['JwksUri', jwksUri];
    return plainHttp(written, `Authentication__Issuers__${index}__${name}`, asked).map(
      ({ line, otherwise }) => `${line}; an identity provider needs https${otherwise}`,
    );
  });
}

/** One line at most, with what else is allowed: outside Production, loopback. */
function plainHttp(
  { config: { environment }, isWrong }: WrittenSettings,
  setting: string,
  asked: string | undefined,
): { readonly line: string; readonly otherwise: string }[] {
  // Undefined where a required one is missing or wrong, which is reported already.
  if (asked === undefined || new URL(asked).protocol === 'https:') return [];
  // Written wrongly, it is Production here, as by default.
  const isLoopbackAllowed = environment !== 'Production' || isWrong('Environment');
  if (isLoopbackAllowed && isLoopbackUrl(asked)) return [];
  const otherwise = environment === 'Production' ? '' : `, or in ${environment} http on loopback`;
  return [{ line: `${setting}: ${asked} is plain http`, otherwise }];
}

function datesInOrder({ config }: WrittenSettings, version: 'v1' | 'v2'): string | undefined {
  // Neither has a default, so one that was written wrongly is not there.
  const { deprecationDate, sunsetDate } = config.apiVersions[version];
  if (deprecationDate === undefined || sunsetDate === undefined) return undefined;
  if (Date.parse(sunsetDate) >= Date.parse(deprecationDate)) return undefined;
  const section = `ApiVersions__${version.toUpperCase()}`;
  return `${section}__SunsetDate: ${sunsetDate} lies before ${section}__DeprecationDate ${deprecationDate}`;
}
