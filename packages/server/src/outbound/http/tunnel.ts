// A way through a forward proxy (CONNECT, RFC 9110 section 9.3.6), for http: and https: alike. The proxy is told the address that was
// judged, not the name, which it might look up to another one.

import type { Socket } from 'node:net';
import type { Course } from './course.ts';
import { GivenConnection } from './given-connection.ts';
import type { OutboundFault } from './outbound-error.ts';
import { ClientRequest } from '../../runtime/node-http.ts';

const HEADER_BYTES_MAX = 16 * 1024;
/** What proxies say of a server that they do not reach, rather than of themselves. */
const UNREACHABLE = new Set([502, 504]);

export interface Tunnel {
  /** To the proxy. */
  readonly socket: Socket;
  readonly proxy: URL;
  readonly address: string;
  readonly port: number;
}

/** Resolves with the same connection, which leads to the address from now on. */
export function openTunnel({ socket, proxy, address, port }: Tunnel, course: Course): Promise<Socket> {
  const to = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
  return course.during((done, failed) => {
    const fail = (fault: OutboundFault, message: string, cause?: unknown) => {
      socket.destroy();
      failed(course.error(fault, message, cause));
    };
    const asked = new ClientRequest({
      agent: new GivenConnection(socket),
      method: 'CONNECT',
      path: to,
      headers: { host: to, ...authorization(proxy) },
      maxHeaderSize: HEADER_BYTES_MAX,
    });
    asked.on('error', (error) => fail('Proxy', 'the forward proxy gave no answer', error));
    asked.on('connect', ({ statusCode: status = 0 }, _, head) => {
      if (UNREACHABLE.has(status)) return fail('Connect', `the forward proxy does not reach it (${status})`);
      if (status < 200 || status > 299)
        return fail('Proxy', `the forward proxy refuses: it answers ${status}`);
      if (head.length > 0) return fail('Protocol', 'something was said before anything was asked');
      return done(socket);
    });
    asked.end();
    return () => socket.destroy();
  });
}

function authorization({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const credentials = Buffer.from(`${unescaped(username)}:${unescaped(password)}`);
  return { 'proxy-authorization': `Basic ${credentials.toString('base64')}` };
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
