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
  if (encryption.keyring === undefined && !encryption.classifications.includes('None'))
    problems.push(
      'Encryption__Keyring is missing; on PostgreSQL in Production it must name a file that all nodes share, out of reach of the database and of its backups (or Encryption__Classifications must be None)',
    );
  if (problems.length > 0) throw new ConfigError(problems);
}

const RULES: readonly Rule[] = [
  (written) => ofDatabase(written, 'Storage__OwnerUrl', 'it is the owner of that database'),
  (written) => ofDatabase(written, 'Storage__IndexUrl', 'it is another login to that database'),
  (written) => ofDatabase(written, 'Storage__RetentionUrl', 'it is another login to that database'),
  distributedDatabase,
  encryptedClasses,
  tlsWhole,
  portsApart,
  limitGiven,
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

function providersOverTls({ config, isWrong }: WrittenSettings): string[] {
  const { authentication, environment } = config;
  // Written wrongly, it is Production here, as by default.
  const isLoopbackAllowed = environment !== 'Production' || isWrong('Environment');
  const otherwise = environment === 'Production' ? '' : `, or in ${environment} http on loopback`;
  return authentication.issuers.flatMap(({ issuer, jwksUri }, index) => {
    const [name, asked] = jwksUri === undefined ? ['Issuer', issuer] : ['JwksUri', jwksUri];
    // Undefined where a required one is missing or wrong, which is reported already.
    if (asked === undefined || new URL(asked).protocol === 'https:') return [];
    if (isLoopbackAllowed && isLoopbackUrl(asked)) return [];
    const setting = `Authentication__Issuers__${index}__${name}`;
    return `${setting}: ${asked} is plain http; an identity provider needs https${otherwise}`;
  });
}

function datesInOrder({ config }: WrittenSettings, version: 'v1' | 'v2'): string | undefined {
  // Neither has a default, so one that was written wrongly is not there.
  const { deprecationDate, sunsetDate } = config.apiVersions[version];
  if (deprecationDate === undefined || sunsetDate === undefined) return undefined;
  if (Date.parse(sunsetDate) >= Date.parse(deprecationDate)) return undefined;
  const section = `ApiVersions__${version.toUpperCase()}`;
  return `${section}__SunsetDate: ${sunsetDate} lies before ${section}__DeprecationDate ${deprecationDate}`;
}
