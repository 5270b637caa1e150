// One request to a witness. It follows no redirect, reads no more than a witness has to say, and gives up when it is told.

export interface Reply {
  readonly status: number;
  /** Without parameters, in lower case. */
  readonly contentType: string;
  readonly body: string;
}

/** Three cosignatures by keys of the largest kind known fit, and a hundred and fifty of ours. */
export const REPLY_BYTES_MAX = 16 * 1024;

export async function post(address: string, body: string, signal: AbortSignal): Promise<Reply> {
  const { protocol } = new URL(address);
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new Error(`the address of a witness begins with http: or https:, not with ${protocol}`);
  }
  const response = await fetch(address, {
    method: 'POST',
    body,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    redirect: 'manual',
    signal,
  });
  const [contentType = ''] = (response.headers.get('content-type') ?? '').split(';');
  return {
    status: response.status,
    contentType: contentType.trim().toLowerCase(),
    body: await readText(response),
  };
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > REPLY_BYTES_MAX) throw new Error(`its answer is over ${REPLY_BYTES_MAX} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
