// The messages of an answer over HTTP: one as JSON, or one after the other as server-sent events.

import { parseJson } from '@tallystick/evidence';

type Message = Readonly<Record<string, unknown>>;

export async function* messagesIn(response: Response): AsyncGenerator<Message, void> {
  const type = response.headers.get('Content-Type') ?? '';
  if (response.body === null) return;
  if (type.startsWith('text/event-stream')) {
    yield* eventsIn(response.body);
    return;
  }
  const text = await response.text();
  if (text === '') return;
  if (!type.startsWith('application/json'))
    throw new Error(
      `it answered ${response.status} with ${type || 'no type'}: is this the address of Tallystick?`,
    );
  yield parseJson(text) as Message;
}

/** What stands in a comment or has no data is passed over. */
async function* eventsIn(body: AsyncIterable<Uint8Array>): AsyncGenerator<Message, void> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const events = text.split(/\r?\n\r?\n/);
    text = events.pop()!;
    for (const event of events) {
      const data = event.split(/\r?\n/).flatMap((line) => (line.startsWith('data:') ? [line.slice(5)] : []));
      if (data.length > 0 && data.join('').trim() !== '') yield parseJson(data.join('\n')) as Message;
    }
  }
}
