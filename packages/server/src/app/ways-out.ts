// The ways out of the service: a guarded client for each kind of peer, with the addresses that it may reach. Identity
// providers and witnesses are named by operators, who often run them in a private network, so over TLS any address is
// allowed. Where webhooks and deliveries of exports go is said by tenants, so only public addresses are, unless a setting allows more.

import type { Config } from '../config/settings.ts';
import {
  anyAddress,
  anyButMetadata,
  loopbackOnly,
  noAddress,
  publicOnly,
} from '../outbound/http/address-rules.ts';
import { createDnsResolve } from '../outbound/http/dns-resolve.ts';
import { createGuardedSockets, type GuardedSockets } from '../outbound/guarded-socket.ts';
import { createOutboundHttp } from '../outbound/http/guarded-http.ts';
import type { OutboundHttp } from '../outbound/http/outbound-http.ts';
import type { Resolve } from '../outbound/http/resolve.ts';
import type { Reach } from '../outbound/http/target.ts';
import type { Clock } from '../runtime/clock.ts';

export interface WaysOut extends Disposable {
  readonly identityProviders: OutboundHttp;
  readonly witnesses: OutboundHttp;
  readonly webhooks: OutboundHttp;
  readonly objectStorage: OutboundHttp;
  readonly sftp: GuardedSockets;
}

export function createWaysOut(
  config: Pick<Config, 'environment' | 'webhooks' | 'exports'>,
  clock: Clock,
  resolveConsumer: Resolve = createDnsResolve({ clock }),
): WaysOut {
  // Keys decide whose tokens are accepted, so in Production they never come from an unauthenticated peer.
  const plain = config.environment === 'Production' ? noAddress : loopbackOnly;
  const identityProviders = createOutboundHttp({ clock, https: anyAddress, http: plain });
  // The answers of a witness are signed, and `tallystick witness` itself has no TLS.
  const witnesses = createOutboundHttp({ clock, https: anyAddress, http: loopbackOnly });
  const webhooks = createOutboundHttp({
    clock,
    ...tenantReach(config.webhooks),
    resolve: resolveConsumer,
    proxy: config.webhooks.proxy?.reveal(),
  });
  const objectStorage = createOutboundHttp({
    clock,
    ...tenantReach(config.exports),
    resolve: resolveConsumer,
  });
  const sftp = createGuardedSockets({
    clock,
    rule: tenantReach(config.exports).https,
    resolve: resolveConsumer,
  });
  return {
    identityProviders,
    witnesses,
    webhooks,
    objectStorage,
    sftp,
    [Symbol.dispose]() {
      identityProviders[Symbol.dispose]();
      witnesses[Symbol.dispose]();
      webhooks[Symbol.dispose]();
      objectStorage[Symbol.dispose]();
    },
  };
}

/** A literal address, a name and what it leads to are all judged by this, when a URL is stored and at every connection. */
function tenantReach({ allowPrivateTargets }: Pick<Config['webhooks'], 'allowPrivateTargets'>): Reach {
  return allowPrivateTargets
    ? { https: anyButMetadata, http: anyButMetadata }
    : { https: publicOnly, http: noAddress };
}
