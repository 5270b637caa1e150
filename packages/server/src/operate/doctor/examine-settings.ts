// Settings that have no effect, that serving would refuse, or that are dangerous where real data is.

import { ConfigError } from '../../config/config-error.ts';
import { isLoopbackUrl } from '../../config/loopback-url.ts';
import { readOtelSettings } from '../../config/otel-settings.ts';
import { requireServable } from '../../config/rules.ts';
import type { Config } from '../../config/settings.ts';
import { tlsFileNames } from '../../config/tls-files.ts';
import { readWitnessPolicy } from '../../config/witness-policy.ts';
import type { Examined, Problem } from './examined.ts';

const EVERYONE = /^(0\.0\.0\.0|::)\/0$/;

/** Of the environment: what is no setting of ours, and can stop a start. */
export type Variables = Readonly<Record<string, string | undefined>>;

export async function examineSettings(config: Config, variables: Variables): Promise<Examined> {
  const { environment } = config;
  const problems = [
    ...(await unservable(() => requireServable(config))),
    ...(await unservable(() => readWitnessPolicy(config))),
    ...(await unservable(() => readOtelSettings(variables))),
    ...openToAll(config),
    ...(environment === 'Production' ? forTests(config) : []),
  ];
  return { problems, measured: `Environment is ${environment}` };
}

/** What a start reads, and ends on. */
async function unservable(read: () => unknown): Promise<Problem[]> {
  try {
    await read();
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((what) => ({ what, remedy: 'mend it: the service does not start like this' }));
  }
}

function openToAll(config: Config): Problem[] {
  const { server, environment } = config;
  const problems: Problem[] = [];
  const isReachable = !isLoopbackUrl(
    `http://${server.host.includes(':') ? `[${server.host}]` : server.host}`,
  );
  const isTls = tlsFileNames(config) !== undefined || server.publicUrl?.startsWith('https:') === true;
  if (isReachable && !isTls)
    problems.push({
      what: `Server__Host is ${server.host} without TLS: keys and events cross the network in the clear`,
      remedy:
        'set Server__Tls__Certificate and Server__Tls__Key, or have a proxy speak TLS and set Server__PublicUrl',
    });
  if (isReachable && environment !== 'Production')
    problems.push({
      what: `Environment is ${environment} and Server__Host is ${server.host}: every sender is believed what it says of its address`,
      remedy: 'set Environment=Production, or listen on loopback',
    });
  for (const network of server.trustedProxies ?? [])
    if (EVERYONE.test(network))
      problems.push({
        what: `Server__TrustedProxies has ${network}: every sender is believed what it says of its address`,
        remedy: 'name the addresses of your proxies alone',
      });
  return problems;
}

function forTests({ webhooks, exports }: Config): Problem[] {
  const found = [
    [webhooks.allowPrivateTargets, 'Webhooks__AllowPrivateTargets', 'Subscriptions'],
    [exports.allowPrivateTargets, 'Exports__AllowPrivateTargets', 'Deliveries of exports'],
  ] as const;
  return found.flatMap(([isSet, name, who]) =>
    isSet
      ? [
          {
            what: `${name} is true in Production: ${who} of tenants reach what is inside your network`,
            remedy: 'take it away',
          },
        ]
      : [],
  );
}
