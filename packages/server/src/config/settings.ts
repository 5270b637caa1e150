// Every setting of the service, once: name, kind, default and meaning. The nesting is the section path, so
// `Server.Port` is `Server__Port` in the environment and `{ "Server": { "Port": … } }` in the file. From this
// description come the checked configuration and its type, `tallystick config`, and the reference page.

import { REGION_PATTERN, TENANT_ID_PATTERN } from '@tallystick/contract';
import { formatTimeSpan } from '../runtime/time-span.ts';
import {
  choice,
  date,
  flag,
  host,
  list,
  network,
  path,
  port,
  regionHost,
  secret,
  share,
  span,
  text,
  url,
  visible,
  whole,
} from './kinds.ts';
import { ENCRYPTION } from './encryption-settings.ts';
import { HEALTH } from './health-settings.ts';
import { optional, required, type Section, type Setting, setting, type ValueOf } from './setting.ts';

const COUNT_MAX = Number.MAX_SAFE_INTEGER;

const region = text('letters, digits, `.`, `_` and `-`', (v) => new RegExp(REGION_PATTERN).test(v));
const tenantId = text('a letter or a digit, then up to 63 letters, digits, `.`, `_` and `-`', (v) =>
  new RegExp(TENANT_ID_PATTERN).test(v),
);
const nodeName = text('up to 64 letters, digits, `.`, `_` and `-`, first a letter or a digit', (v) =>
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(v),
);
const origin = text('a name such as audit.example.com/log, without a scheme', (v) =>
  /^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$/.test(v),
);
const timeSpan = span((ms) => formatTimeSpan(ms * 1e6).replace(/\.0{7}$/, ''));

const limiter = (permitLimit: Setting<number | undefined>) => ({
  Window: setting(timeSpan, { ms: 1000 }, 'Length of the fixed window.'),
  AutoReplenishment: setting(
    flag(),
    true,
    'Permits come back when a window ends; off: only by the admin operation.',
  ),
  PermitLimit: permitLimit,
  QueueLimit: setting(whole(0, COUNT_MAX), 0, 'How many requests may wait, oldest first; 0 rejects at once.'),
});

const apiVersion = (version: string) => ({
  State: setting(
    choice('Active', 'Deprecated', 'Sunset', 'Retired'),
    'Active',
    `Lifecycle of version ${version}: Deprecated adds warning headers, Sunset also refuses writes, Retired is 404.`,
  ),
  DeprecationDate: optional(
    date(),
    'no header',
    'Value of `X-API-Deprecation-Date` once the version is deprecated.',
  ),
  SunsetDate: optional(date(), 'no header', 'Value of `X-API-Sunset-Date` once the version is deprecated.'),
});

const issuer = {
  Issuer: required(
    url('https', 'http'),
    'The `iss` claim; keys are found from it by OpenID discovery, over https.',
  ),
  Audience: required(visible(1, 500), 'The `aud` claim that a token must carry.'),
  JwksUri: optional(
    url('https', 'http'),
    'by discovery',
    'Where the keys are, for an issuer without discovery or with its keys on another origin.',
  ),
  Algorithms: setting(
    list(choice('RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA')),
    ['RS256', 'PS256', 'ES256', 'EdDSA'],
    'Signature algorithms that are accepted; asymmetric ones only.',
  ),
  TenantClaim: setting(visible(1, 200), 'tenant_id', 'The claim that names the tenant.'),
  RolesClaim: setting(visible(1, 200), 'roles', 'The claim that lists the roles.'),
  ScopesClaim: setting(
    visible(1, 200),
    'scope',
    'The claim that lists the scopes, as a list or separated by spaces.',
  ),
  PermissionsClaim: setting(visible(1, 200), 'permissions', 'The claim that lists the permissions.'),
  ClearanceClaim: setting(visible(1, 200), 'clearance', 'The claim that names the clearance.'),
  RequireScope: setting(flag(), true, "A token must carry the operation's scope or permission."),
};

export const SETTINGS = {
  Environment: setting(
    choice('Development', 'Test', 'Production'),
    'Production',
    'Where the service runs. Development writes readable diagnostics; Development and Test trust every proxy, do without `Log__Anchor` on PostgreSQL, and may ask identity providers, and those of the keyring, on loopback over plain http.',
  ),
  Server: {
    Host: setting(host(), '127.0.0.1', 'Address to listen on; `0.0.0.0` or `::` for all.'),
    Port: setting(port(), 8080, 'Port to listen on.'),
    PublicUrl: optional(
      url('https', 'http'),
      'the listening address',
      'How others reach the service. If it begins with `https:`, answers carry `Strict-Transport-Security`.',
    ),
    CorsOrigins: optional(
      list(url('https', 'http')),
      'no origin',
      'Origins whose pages may ask the service from a browser, as they are sent: `https://console.example`.',
    ),
    TrustedProxies: optional(
      list(network()),
      'loopback; everyone in Development and Test',
      'Whose `X-Forwarded-For` and `X-Test-Id` are believed.',
    ),
    Tls: {
      Certificate: optional(
        path(),
        'plain HTTP',
        'PEM file with the certificate chain; needs `Server__Tls__Key`. Changed files are taken up within 10 s.',
      ),
      Key: optional(path(), 'plain HTTP', 'PEM file with the private key; needs `Server__Tls__Certificate`.'),
    },
  },
  Grpc: { Port: optional(port(), 'gRPC is not served', 'Port of the gRPC listener.') },
  GraphQL: {
    Introspection: setting(flag(), true, 'Answers questions about the schema over GraphQL.'),
  },
  Mcp: {
    Enabled: setting(flag(), true, 'Serves `/mcp`.'),
    Tools: setting(
      choice('Reading', 'All'),
      'Reading',
      'Which tools models get. Reading: those that change nothing, and the one that makes an export. All: those that write, too.',
    ),
    AllowedHosts: optional(
      list(host()),
      'those of `Server__PublicUrl`, and loopback on loopback',
      'Further names by which `/mcp` is asked for, without a port: what a proxy in front sends as `Host`.',
    ),
  },
  Storage: {
    DataDirectory: setting(
      path(),
      './data',
      'Where everything is kept; made at first start, for its owner only.',
    ),
    Url: optional(
      secret(url('postgres', 'postgresql')),
      'the embedded store in the data directory',
      'A PostgreSQL database to use instead of the embedded store. Its user needs no rights but those that `tallystick migrate` gives it.',
    ),
    OwnerUrl: optional(
      secret(url('postgres', 'postgresql')),
      'that of `Storage__Url`',
      'The same database with the credential of its owner, for `tallystick migrate` and `copy` only; the service does not need it.',
    ),
    IndexUrl: optional(
      secret(url('postgres', 'postgresql')),
      'that of `Storage__Url`',
      'The same database with a login of its own for what concerns all tenants: signing, the index, searches, nodes. Then the user of `Storage__Url` needs no right to see all tenants.',
    ),
    RetentionUrl: optional(
      secret(url('postgres', 'postgresql')),
      'that of `Storage__Url`',
      'The same database with a login of its own for removing content whose time is over.',
    ),
    Distribute: setting(
      flag(),
      false,
      'When the tables are made, in a database with the extension Citus: spreads them over its machines by tenant. Those that are there stay as they are.',
    ),
  },
  Node: {
    Name: optional(
      nodeName,
      'the name of the host',
      'What this node is called among those on one PostgreSQL database: each has a name of its own, and keeps it over restarts.',
    ),
  },
  Log: {
    Origin: optional(
      origin,
      '`tallystick.local/` and the ULID of the installation',
      'Name of the log in every checkpoint; frozen at first start. `<host>/api/v1/log` makes it the address that tools read.',
    ),
    Anchor: optional(
      path(),
      'the data directory; required on PostgreSQL in Production',
      'Where signed heads are kept, apart from the log: a directory, which must be there, or a file in one. On PostgreSQL a directory that all nodes share.',
    ),
    CheckpointInterval: setting(span(), { ms: 1000 }, 'How often changed logs get a signed checkpoint.'),
    WitnessPolicy: optional(
      path(),
      'no witnesses',
      'File with the witnesses that are asked to cosign every checkpoint, and which of them are enough.',
    ),
  },
  Streams: {
    SealAfter: setting(
      span(),
      { ms: 86_400_000 },
      'Streams are cut at the whole multiples of this since 1970 UTC; an open one with events in it is sealed there.',
    ),
    SealAfterEvents: setting(
      whole(1, COUNT_MAX),
      1_000_000,
      'Number of events at which the open stream is sealed.',
    ),
  },
  Events: {
    RequireActorIdentity: setting(
      flag(),
      false,
      'A `User` must have userId or userName, a `Service` serviceId or serviceName.',
    ),
  },
  Authentication: {
    Issuers: {
      each: issuer,
      meaning: 'OpenID providers whose bearer tokens are accepted; with none the service is its own issuer.',
    },
  },
  Tenants: {
    AutoProvision: setting(flag(), true, "A tenant comes into being at an authorised caller's first write."),
    Names: optional(
      list(tenantId),
      'no tenant',
      'Tenants that a start makes if they are not there: `acme,globex`. Taking a name away removes none.',
    ),
    Region: optional(region, 'no region', 'Region of this installation, for tenants pinned to regions.'),
  },
  Encryption: ENCRYPTION,
  Webhooks: {
    AllowPrivateTargets: setting(
      flag(),
      false,
      'Subscriptions may use `http:`, loopback and private addresses. For tests.',
    ),
    Proxy: optional(
      secret(url('http', 'https')),
      'connections are made directly',
      'A forward proxy through which webhooks go (CONNECT), with its credentials: `http://user:password@proxy.example:3128`. It may have any address; names are looked up here, and where they lead is judged as without it.',
    ),
    TimeScale: setting(
      share(),
      1,
      'Multiplies the delays of retries, the rest of a circuit and how long deliveries wait. Only in `Test`.',
    ),
  },
  Exports: {
    Directory: optional(path(), '`exports` in the data directory', 'Where export files are kept.'),
    AllowPrivateTargets: setting(
      flag(),
      false,
      'Deliveries may go to loopback and private addresses. For tests.',
    ),
    HostsInRegions: optional(
      list(regionHost(new RegExp(REGION_PATTERN))),
      'none',
      'Hosts that are known to be in a region: `eu=sftp.example.com,eu=*.storage.example`. Files of a tenant that is pinned to a region are delivered to these, and to S3 of AWS in that region.',
    ),
  },
  Retention: {
    SweepInterval: setting(
      span(undefined, 1000),
      { ms: 3_600_000 },
      'How often the service looks for content that is past its retention, and removes it.',
    ),
  },
  RateLimiting: {
    EnableRateLimiting: setting(
      flag(),
      false,
      "Master switch of the global limiter, the tenants' limits and the `MCP` policy.",
    ),
    GlobalLimiter: limiter(
      optional(
        whole(1, COUNT_MAX),
        'required when rate limiting is on',
        'Requests per window and partition.',
      ),
    ),
  },
  McpRateLimiting: {
    McpLimiter: limiter(
      optional(whole(1, COUNT_MAX), 'no limit', 'Requests to `/mcp` per window and partition.'),
    ),
  },
  ApiVersions: { V1: apiVersion('1.0'), V2: apiVersion('2.0') },
  Health: HEALTH,
  Redis: {
    Url: optional(
      secret(url('redis', 'rediss')),
      'counters in memory',
      'A Redis server through which several nodes share their counters.',
    ),
  },
  Telemetry: {
    Level: setting(
      choice('Debug', 'Info', 'Warn', 'Error'),
      'Info',
      'The least serious diagnostics that are written; Debug adds a line for each request.',
    ),
  },
  AdminKey: {
    ...optional(
      secret(visible(20, 200)),
      'one is made at first start and printed once',
      'A platform Admin key. Each start makes sure that it is there; what an earlier value made is revoked then.',
    ),
    name: 'TALLYSTICK_ADMIN_KEY',
  },
} satisfies Section;

/** The checked configuration. */
export type Config = ValueOf<typeof SETTINGS>;
