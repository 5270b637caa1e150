// The ways out of the service: a guarded client for each kind of peer, with the addresses that it may reach. Identity
// providers and witnesses are named by operators, who often run them in a private network, so over TLS any address is
// allowed. Where webhooks go is said by tenants, so only public addresses are, unless a setting allows more.

import type { Config } from '../config/settings.ts';
import {
  anyAddress,
  anyButMetadata,
  loopbackOnly,
  noAddress,
  publicOnly,
} from '../outbound/http/address-rules.ts';
import { createDnsResolve } from '../outbound/http/dns-resolve.ts';
import { createOutboundHttp } from '../outbound/http/guarded-http.ts';
import type { OutboundHttp } from '../outbound/http/outbound-http.ts';
import type { Resolve } from '../outbound/http/resolve.ts';
import type { Reach } from '../outbound/http/target.ts';
import type { Clock } from '../runtime/clock.ts';

export interface WaysOut extends Disposable {
  readonly identityProviders: OutboundHttp;
  readonly witnesses: OutboundHttp;
  readonly webhooks: OutboundHttp;
}

export function createWaysOut(
  config: Pick<Config, 'environment' | 'webhooks'>,
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
    ...webhookReach(config.webhooks),
    resolve: resolveConsumer,
    proxy: config.webhooks.proxy?.reveal(),
  });
  return {
    identityProviders,
    witnesses,
    webhooks,
    [Symbol.dispose]() {
      identityProviders[Symbol.dispose]();
      witnesses[Symbol.dispose]();
      webhooks[Symbol.dispose]();
    },
  };
}

/** A literal address, a name and what it leads to are all judged by this, when a URL is stored and at every connection. */
function webhookReach({ allowPrivateTargets }: Config['webhooks']): Reach {
  return allowPrivateTargets
    ? { https: anyButMetadata, http: anyButMetadata }
    : { https: publicOnly, http: noAddress };
}
