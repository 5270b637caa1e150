// The sender of a request, for the limits of rates; and how an answer tells it where it stands.

import type { Arrival } from '../../gateway/pipeline.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Exchange } from './mount.ts';

export function ratedSender(exchange: Exchange, clock: Clock): Arrival['sender'] {
  const { request } = exchange;
  let fewest = Infinity;
  return {
    partition: exchange.partition,
    isGone: () => request.socket.destroyed,
    onRate({ limit, remaining, resetsInMs }) {
      // Of several limiters, the one that is nearest to its end is shown.
      if (remaining >= fewest) return;
      fewest = remaining;
      exchange.addedHeaders = {
        ...exchange.addedHeaders,
        'X-RateLimit-Limit': String(limit),
        'X-RateLimit-Remaining': String(remaining),
        'X-RateLimit-Reset': String(Math.ceil((clock.now() + resetsInMs) / 1000)),
      };
    },
  };
}
