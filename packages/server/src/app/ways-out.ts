// The ways out of the service: a guarded client for each kind of peer, with the addresses that it may reach. Operators
// name these peers in the settings and often run them in a private network, so over TLS any address is allowed.

import type { Config } from '../config/settings.ts';
import {
  anyAddress,
  createOutboundHttp,
  loopbackOnly,
  noAddress,
  type OutboundHttp,
} from '../outbound/http.ts';
import type { Clock } from '../runtime/clock.ts';

export interface WaysOut extends Disposable {
  readonly identityProviders: OutboundHttp;
  readonly witnesses: OutboundHttp;
}

export function createWaysOut({ environment }: Pick<Config, 'environment'>, clock: Clock): WaysOut {
  // Keys decide whose tokens are accepted, so in Production they never come from an unauthenticated peer.
  const plain = environment === 'Production' ? noAddress : loopbackOnly;
  const identityProviders = createOutboundHttp({ clock, https: anyAddress, http: plain });
  // The answers of a witness are signed, and `tallystick witness` itself has no TLS.
  const witnesses = createOutboundHttp({ clock, https: anyAddress, http: loopbackOnly });
  return {
    identityProviders,
    witnesses,
    [Symbol.dispose]() {
      identityProviders[Symbol.dispose]();
      witnesses[Symbol.dispose]();
    },
  };
}
