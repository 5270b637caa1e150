// A consumer that answers every request with the same few bytes at once, for benchmarks of whoever asks. Says its port when it is ready.

import { createServer, type AddressInfo } from 'node:net';

const ANSWER = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}',
);

const server = createServer((socket) => {
  let received = '';
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1');
    for (;;) {
      const end = received.indexOf('\r\n\r\n');
      if (end === -1) return;
      const length = /content-length: *(\d+)/i.exec(received.slice(0, end))?.[1] ?? '0';
      const whole = end + 4 + Number(length);
      if (received.length < whole) return;
      received = received.slice(whole);
      socket.write(ANSWER);
    }
  });
});
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port));
