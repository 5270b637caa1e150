// Posts to the consumers of webhooks over the guarded client.

import type { Consumers, Post, PostResult } from '../webhooks/consumer.ts';
import { OutboundError, type OutboundTimings, peerIsToBlame } from './http/outbound-error.ts';
import type { OutboundHttp } from './http/outbound-http.ts';

export function consumersOver(http: Pick<OutboundHttp, 'send'>): Consumers {
  return { post: (post) => send(http, post) };
}

async function send(http: Pick<OutboundHttp, 'send'>, { tenant, ...post }: Post): Promise<PostResult> {
  try {
    const request = { ...post, party: tenant, method: 'POST', overLimit: 'Cut' } as const;
    const { status, headers, body, timings } = await http.send(request);
    return { ...timesOf(timings), status, retryAfter: headers['retry-after'], body };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    const { fault, message } = error;
    return { ...timesOf(error.timings), fault, message, isOurs: !peerIsToBlame(fault) };
  }
}

function timesOf({ totalMs, dnsMs, connectMs, tlsMs, firstByteMs }: OutboundTimings) {
  return {
    latencyMs: Math.round(totalMs * 10) / 10,
    ...(dnsMs !== undefined && { dnsMs }),
    ...(connectMs !== undefined && { connectMs }),
    ...(tlsMs !== undefined && { tlsMs }),
    ...(firstByteMs !== undefined && { firstByteMs }),
  };
}
