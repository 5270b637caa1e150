// Scripts for consumers that behave badly, and for those that behave: what each does with every request on its connection.

import { gzipSync } from 'node:zlib';
import type { Line, ReceivedRequest, Script } from './scripted-consumer.ts';

/** Answers each request with the same bytes. */
export const says =
  (text: string | ((request: ReceivedRequest) => string)): Script =>
  async (line) => {
    for (let request = await line.request(); request !== undefined; request = await line.request())
      await line.write(typeof text === 'string' ? text : text(request));
  };

export function answer(status: number, headers: Readonly<Record<string, string>> = {}, body = ''): string {
  const lines = Object.entries({ ...headers, 'content-length': String(Buffer.byteLength(body)) });
  return `HTTP/1.1 ${status} Status\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

export const OK = answer(200, {}, 'ok');
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

/** After a request. */
const asked =
  (then: Script): Script =>
  async (line) => {
    if ((await line.request()) !== undefined) await then(line);
  };

/** Answers 200. */
export const accepts: Script = says(OK);

/** Takes the connection and reads nothing from it, in TLS neither (with `isBare`). */
export const neverReads: Script = (line) => void line.socket.pause();
/** Reads all of it and says nothing. */
export const neverAnswers: Script = asked(() => {});
/** Answers 200, but late. */
export const answersAfter = (ms: number): Script =>
  asked(async (line) => {
    await line.pause(ms);
    await line.write(OK);
  });
/** Stops in the middle of its headers. */
export const stallsInHeaders: Script = asked((line) => line.write('HTTP/1.1 200 OK\r\nx-a: b'));
/** Stops in the middle of its body. */
export const stallsInBody: Script = asked((line) =>
  line.write('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf'),
);
/** One byte of the headers each time. */
export const dripsHeaders = (everyMs = 1000): Script =>
  asked((line) => line.drip(`HTTP/1.1 200 OK\r\nx-a: ${'b'.repeat(8000)}`, everyMs));
/** One byte of the body each time. */
export const dripsBody = (everyMs = 1000): Script =>
  asked(async (line) => {
    await line.write('HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n');
    await line.drip('.'.repeat(9999), everyMs);
  });

const MEGABYTE = Buffer.alloc(1024 * 1024, 'x');
/** Ten gigabytes, with their length announced. */
export const tenGigabytes: Script = asked(async (line) => {
  await line.write('HTTP/1.1 200 OK\r\ncontent-length: 10737418240\r\n\r\n');
  await line.flood(MEGABYTE, 10_240);
});
/** Chunks without an end. */
export const endlessChunks: Script = asked(async (line) => {
  await line.write(CHUNKED);
  await line.flood(Buffer.concat([Buffer.from('100000\r\n'), MEGABYTE, Buffer.from('\r\n')]));
});
/** One chunk of one byte whose extension has no end. */
export const endlessChunkExtension: Script = asked(async (line) => {
  await line.write(`${CHUNKED}1;`);
  await line.flood(MEGABYTE);
});
/** Ten megabytes of zeros, compressed to ten kilobytes. */
export const gzipBomb: Script = asked(async (line) => {
  const bomb = gzipSync(Buffer.alloc(10 * 1024 * 1024));
  await line.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`);
  await line.write(bomb);
});
/** A megabyte of headers. */
export const hugeHeaders: Script = asked(async (line) => {
  await line.write('HTTP/1.1 200 OK\r\n');
  for (let i = 0; i < 1024 && !line.isOver; i++) await line.write(`x-${i}: ${'y'.repeat(1015)}\r\n`);
  await line.write('\r\n');
});
/** One header of a megabyte. */
export const hugeHeader: Script = asked((line) =>
  line.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(1024 * 1024)}\r\n\r\n`),
);
/** Interim answers without an end. */
export const endlessInterim: Script = asked(async (line) => {
  await line.flood(Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(1000)));
});
/** Interim answers, and then one that counts. */
export const interimFirst: Script = says(
  `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n${OK}`,
);

/** Closes as soon as somebody connects. */
export const closesAtOnce: Script = (line) => line.close();
/** Resets as soon as somebody connects. */
export const resetsAtOnce: Script = (line) => line.reset();
/** Resets when it has the request. */
export const resetsAfterRequest: Script = asked((line) => line.reset());
/** Closes, in order, when it has the request. */
export const closesAfterRequest: Script = asked((line) => line.close());
/** Resets when so many bytes of its answer are sent. */
export const resetsAfter = (bytes: number, text = OK): Script =>
  asked(async (line) => {
    await line.write(text.slice(0, bytes));
    await line.pause(20);
    line.reset();
  });
/** Ends its body early. */
export const closesInBody: Script = asked(async (line) => {
  await line.write('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf');
  line.close();
});
/** Its body ends with the connection, as in HTTP/1.0. */
export const endsWithConnection: Script = asked(async (line) => {
  await line.write('HTTP/1.0 200 OK\r\n\r\nall of it');
  line.close();
});

/** Keeps the connection, and closes it in the moment in which the second request comes. */
export const staleKeepAlive: Script = asked(async (line) => {
  await line.write(OK);
  await line.request();
  line.reset();
});
/** Answers, and says something more that nobody asked for. */
export const speaksUnasked: Script = asked((line: Line) => line.write(`${OK}${answer(500, {}, 'unasked')}`));
/** Answers while the request is still being sent, and reads no more of it. */
export const answersEarly: Script = async (line) => {
  await line.write(answer(413, { connection: 'close' }, 'too large'));
  line.close();
};

/** Redirects to itself. */
export const redirectLoop: Script = says(({ path, headers }) =>
  answer(308, { location: `http://${headers['host']}${path}` }),
);
export const gone: Script = says(answer(410));
export const retryAfter = (value: string, status = 503): Script =>
  says(answer(status, { 'retry-after': value }));

/** Speaks another protocol. */
export const speaksSmtp: Script = (line) => line.write('220 mail.example ESMTP\r\n');
export const answersNonsense: Script = asked((line) => line.write('HTP/1.1 OK 200\r\n\r\n'));
/** Both ways to say how long a body is, at once. */
export const twoLengths: Script = asked((line) =>
  line.write(
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
  ),
);
export const badChunk: Script = asked((line) => line.write(`${CHUNKED}zz\r\nok\r\n0\r\n\r\n`));
export const unwantedUpgrade: Script = asked((line) =>
  line.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'),
);
