// Consumers that break HTTP, or use it in ways that must not fool a delivery.

import * as scripts from '../../../packages/server/src/testing/consumer-scripts.ts';
import type { Line, Script } from '../../../packages/server/src/testing/scripted-consumer.ts';
import { acknowledged, type BadConsumer, failing, HURRIED, once, refusing } from './bad-consumer.ts';

const { answer, says, OK } = scripts;
/** The connection ends with the answer, so that the next attempt gets the next script. */
const lastly = (status: number, headers: Readonly<Record<string, string>> = {}): Script =>
  says(answer(status, { connection: 'close', ...headers }));
const asked =
  (then: (line: Line) => Promise<void> | void): Script =>
  async (line) => {
    if ((await line.request()) !== undefined) await then(line);
  };
const writes = (text: string): Script => asked((line) => line.write(text));

const LATE: readonly BadConsumer[] = [
  failing('accepts and never reads', scripts.neverReads, /^Timeout$/),
  failing('reads and never answers', scripts.neverAnswers, /^Timeout$/),
  failing('answers when the time is over', scripts.answersAfter(1500), /^Timeout$/),
  failing('stalls within its headers', scripts.stallsInHeaders, /^Timeout$/),
  failing('stalls within its body', scripts.stallsInBody, /^Timeout$/),
  failing('drips its headers, a byte a second', scripts.dripsHeaders(), /^Timeout$/),
  failing('drips its body, a byte a second', scripts.dripsBody(), /^Timeout$/),
  failing('drips its headers faster', scripts.dripsHeaders(50), /^Timeout$/),
  failing('drips its body faster', scripts.dripsBody(50), /^Timeout$/),
  failing('says 100 Continue again and again', asked(dripsContinue), /^Timeout$/),
].map((each) => ({ ...each, subscription: HURRIED }));

async function dripsContinue(line: Line): Promise<void> {
  while (!line.isOver) {
    await line.write('HTTP/1.1 100 Continue\r\n\r\n');
    await line.pause(50);
  }
}

const BROKEN_OFF: readonly BadConsumer[] = [
  failing('closes at once', scripts.closesAtOnce, /^Reset$/),
  failing('resets at once', scripts.resetsAtOnce, /^(Reset|Connect)$/),
  failing('closes when it has the request', scripts.closesAfterRequest, /^Reset$/),
  failing('resets when it has the request', scripts.resetsAfterRequest, /^Reset$/),
  failing('resets within the first line', scripts.resetsAfter(10), /^Reset$/),
  failing('resets within the headers', scripts.resetsAfter(30), /^Reset$/),
  failing('resets within the body', scripts.resetsAfter(OK.length - 1), /^Reset$/),
  failing('ends its body early', scripts.closesInBody, /^Reset$/),
  failing('ends within its headers', endsIn('HTTP/1.1 200 OK\r\nx-a: b'), /^Reset$/),
  failing(
    'ends within a chunk',
    endsIn('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab'),
    /^Reset$/,
  ),
  failing('closes its half and reads on', closesItsHalf, /^Reset$/),
];

function endsIn(text: string): Script {
  return asked(async (line) => {
    await line.write(text);
    line.close();
  });
}

async function closesItsHalf(line: Line): Promise<void> {
  line.close();
  await line.request();
}

const TOO_MUCH: readonly BadConsumer[] = [
  acknowledged('answers with ten gigabytes', scripts.tenGigabytes),
  acknowledged('answers with chunks without an end', scripts.endlessChunks),
  acknowledged('answers with a gzip bomb', scripts.gzipBomb),
  failing('answers with a chunk extension without an end', scripts.endlessChunkExtension, /^TooLarge$/),
  failing('answers with a megabyte of headers', scripts.hugeHeaders, /^TooLarge$/),
  failing('answers with one header of a megabyte', scripts.hugeHeader, /^TooLarge$/),
  failing('answers with interim answers without an end', scripts.endlessInterim, /^TooLarge$/),
  failing('answers with a hundred megabytes of trailers', asked(hugeTrailers), /^TooLarge$/),
];

async function hugeTrailers(line: Line): Promise<void> {
  await line.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n');
  await line.flood(Buffer.from(`x-trailer: ${'y'.repeat(1011)}\r\n`), 100 * 1024);
  await line.write('\r\n');
}

const REDIRECTING: readonly BadConsumer[] = [301, 302, 303, 307, 308].map((status) =>
  refusing(
    `redirects to itself by ${status}`,
    says(({ path, headers }) => answer(status, { location: `http://${headers['host']}${path}` })),
    status,
  ),
);

const NO_SUCCESS: readonly BadConsumer[] = [
  203, 205, 206, 207, 226, 300, 304, 400, 401, 404, 413, 500, 502, 504,
].map((status) => refusing(`answers ${status}`, lastly(status), status));

const SUCCESS: readonly BadConsumer[] = [
  ...[200, 201, 202].map((status) => acknowledged(`answers ${status}`, says(answer(status)), status)),
  acknowledged('answers 204', says('HTTP/1.1 204 No Content\r\n\r\n'), 204),
  acknowledged('says 100 and 103 first', scripts.interimFirst),
  acknowledged('says 102 first', says(`HTTP/1.1 102 Processing\r\n\r\n${OK}`)),
  acknowledged('ends its body with the connection', scripts.endsWithConnection),
];

const ENDING: readonly BadConsumer[] = [
  {
    ...refusing('answers 410', scripts.gone, 410),
    seen: { status: 'DeadLettered', attempts: 1, fault: /^Status$/, responseStatus: 410 },
  },
  {
    ...refusing('answers 404, and is not to be asked again', lastly(404), 404),
    subscription: { retryClientErrors: false },
    seen: { status: 'DeadLettered', attempts: 1, fault: /^Status$/, responseStatus: 404 },
  },
];

/** By the time scale of the test, an hour is 3.6 seconds, and the delay before the second attempt a millisecond; a retry is found within a second. */
const HOUR_MS = 3600;
const SOON = [0, 2500] as const;
const waiting = (status: number, value: string, gapMs: readonly [number, number]): BadConsumer => ({
  ...once(
    `answers ${status} with Retry-After: ${value}`,
    lastly(status, { 'retry-after': value }),
    scripts.accepts,
  ),
  gapMs,
});

const WAITING: readonly BadConsumer[] = [
  waiting(503, '3', [3000, 6000]),
  waiting(429, '3', [3000, 6000]),
  waiting(503, '0', SOON),
  waiting(503, '-5', SOON),
  waiting(503, 'soon', SOON),
  waiting(503, '1.5', SOON),
  waiting(503, '', SOON),
  waiting(503, 'Sun, 06 Nov 1994 08:49:37 GMT', SOON),
  waiting(503, 'Fri, 31 Dec 2199 23:59:59 GMT', [HOUR_MS, HOUR_MS + 3000]),
  waiting(503, '999999999', [HOUR_MS, HOUR_MS + 3000]),
  waiting(429, '99999999999999999999', [HOUR_MS, HOUR_MS + 3000]),
  waiting(500, '3', SOON),
];

const ODD: readonly BadConsumer[] = [
  {
    ...acknowledged('closes a kept connection as the next request comes', scripts.accepts),
    consumer: { scripts: [scripts.staleKeepAlive, scripts.accepts] },
    events: 2,
  },
  { ...acknowledged('gives two answers to one request', scripts.speaksUnasked), events: 2 },
  refusing('answers before it has read the request', scripts.answersEarly, 413),
  acknowledged('answers 200 and resets when all of it was sent', asked(answersAndResets)),
  failing('speaks another protocol', scripts.speaksSmtp, /^Protocol$/),
  failing('answers nonsense', scripts.answersNonsense, /^Protocol$/),
  failing('announces two lengths', scripts.twoLengths, /^Protocol$/),
  failing(
    'announces two different lengths',
    writes('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok'),
    /^Protocol$/,
  ),
  failing(
    'announces a negative length',
    writes('HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\nok'),
    /^Protocol$/,
  ),
  failing(
    'has a header with a zero byte',
    writes('HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: 2\r\n\r\nok'),
    /^Protocol$/,
  ),
  failing('breaks its chunks', scripts.badChunk, /^Protocol$/),
  failing('changes the protocol unasked', scripts.unwantedUpgrade, /^Protocol$/),
  failing('answers in HTTP/2', writes('\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0d'), /^Protocol$/),
  failing(
    'answers with zeros',
    asked((line) => line.write(Buffer.alloc(100_000))),
    /^Protocol$/,
  ),
];

async function answersAndResets(line: Line): Promise<void> {
  await line.write(OK);
  await line.pause(100);
  line.reset();
}

export const HTTP_CASES: readonly BadConsumer[] = [
  ...LATE,
  ...BROKEN_OFF,
  ...TOO_MUCH,
  ...REDIRECTING,
  ...NO_SUCCESS,
  ...SUCCESS,
  ...ENDING,
  ...WAITING,
  ...ODD,
];
