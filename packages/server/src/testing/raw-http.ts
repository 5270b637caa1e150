// HTTP by hand, for requests that no client library would send: bytes out, answers in.

import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends the bytes and reads all answers: until the server closes, or is silent after a whole answer. */
export async function exchangeRaw(
  port: number,
  ...parts: readonly (string | Buffer)[]
): Promise<RawAnswer[]> {
  return exchangeSome(port, 1, ...parts);
}

/** The same, where at least so many answers are awaited before silence is taken for the end. */
export async function exchangeSome(
  port: number,
  answersMin: number,
  ...parts: readonly (string | Buffer)[]
): Promise<RawAnswer[]> {
  const socket = await open(port);
  const received = readAnswers(socket, answersMin);
  for (const part of parts) socket.write(part);
  return received;
}

export function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.once('error', reject);
  });
}

/** However slow the machine is. */
const PATIENCE_MS = 60_000;
/** Long enough for a second answer that should not be there. */
const SILENCE_MS = 60;

export function readAnswers(socket: Socket, answersMin = 1): Promise<RawAnswer[]> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const done = () => {
      socket.destroy();
      const { answers, rest } = parseAnswers(received);
      if (rest.length === 0) resolve(answers);
      else reject(new Error(`an answer breaks off: ${rest.toString('latin1')}`));
    };
    socket.setTimeout(PATIENCE_MS, done);
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const { answers, rest } = parseAnswers(received);
      const isSilenceAwaited = answers.length >= answersMin && rest.length === 0;
      socket.setTimeout(isSilenceAwaited ? SILENCE_MS : PATIENCE_MS);
    });
    for (const event of ['end', 'close', 'error']) socket.on(event, done);
  });
}

function parseAnswers(bytes: Buffer): { answers: RawAnswer[]; rest: Buffer } {
  const answers: RawAnswer[] = [];
  let rest = bytes;
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) break;
    const [first = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    );
    const bodyEnd = end + 4 + Number(headers['content-length'] ?? 0);
    if (rest.length < bodyEnd) break;
    const status = Number(first.split(' ')[1]);
    // Interim answers, such as 100 Continue, are not answers.
    if (status >= 200)
      answers.push({ status, headers, body: rest.subarray(end + 4, bodyEnd).toString('utf8') });
    rest = rest.subarray(bodyEnd);
  }
  return { answers, rest };
}
