// One request to a witness.

import type { OutboundHttp } from './http.ts';

export interface WitnessRequest {
  readonly address: string;
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface WitnessReply {
  readonly status: number;
  /** Without parameters, in lower case. */
  readonly contentType: string;
  readonly body: string;
}

/** Three cosignatures by keys of the largest kind known fit, and a hundred and fifty of ours. */
const REPLY_BYTES_MAX = 16 * 1024;

export async function post(
  http: OutboundHttp,
  { address, ...request }: WitnessRequest,
): Promise<WitnessReply> {
  const { status, headers, body } = await http.send({
    ...request,
    url: address,
    method: 'POST',
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    answerBytesMax: REPLY_BYTES_MAX,
  });
  const [contentType = ''] = (headers['content-type'] ?? '').split(';');
  return {
    status,
    contentType: contentType.trim().toLowerCase(),
    body: new TextDecoder('utf-8', { fatal: true }).decode(body),
  };
}
