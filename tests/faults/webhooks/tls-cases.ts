// Consumers that cannot be trusted, or do not trust us, and those that break TLS.

import type { TlsOptions } from 'node:tls';
import { createAuthority, type Wanted } from '../../../packages/server/src/testing/certificates.ts';
import { accepts, neverReads } from '../../../packages/server/src/testing/consumer-scripts.ts';
import type { Line, Script } from '../../../packages/server/src/testing/scripted-consumer.ts';
import { acknowledged, type BadConsumer, failing, HURRIED } from './bad-consumer.ts';

const authority = createAuthority();
const clients = createAuthority('Clients');
const client = clients.issue({ hosts: ['tallystick'] });
const HOSTS = ['127.0.0.1'];
const tls = { ca: authority.certificate };

function serving(wanted: Partial<Wanted> = {}, issuer = authority): TlsOptions {
  const { certificate: cert, key } = issuer.issue({ hosts: HOSTS, ...wanted });
  return { cert, key };
}

const GOOD = serving();
const WANTING = { ...GOOD, requestCert: true, rejectUnauthorized: true, ca: clients.certificate };

function over(options: TlsOptions, of: BadConsumer, subscription: object = { tls }): BadConsumer {
  return { ...of, consumer: { ...of.consumer, tls: options }, subscription };
}

const untrusted = (name: string, options: TlsOptions, subscription?: object) =>
  over(options, failing(name, accepts, /^Tls$/), subscription);
const trusted = (name: string, options: TlsOptions, subscription?: object) =>
  over(options, acknowledged(name, accepts), subscription);

/** On the TCP connection, before TLS is negotiated. */
const bare = (name: string, script: Script, fault: RegExp, more: object = {}): BadConsumer => ({
  ...failing(name, script, fault),
  consumer: { scripts: [script], tls: GOOD, isBare: true },
  subscription: { tls, ...more },
});

const readsOn: Script = (line) => void line.socket.resume();
/** The head of a handshake message, and nothing more. */
const beginsHandshake: Script = (line) => line.write(Buffer.from('16030300400200003c0303', 'hex'));
const alerts: Script = (line) => line.write(Buffer.from('15030300020228', 'hex'));
const closesInHandshake: Script = (line: Line) => {
  line.socket.once('data', () => line.close());
};

export const TLS_CASES: readonly BadConsumer[] = [
  trusted('has a certificate of the authority that it names', GOOD),
  trusted('speaks TLS 1.2', { ...GOOD, maxVersion: 'TLSv1.2' }),
  trusted('speaks TLS 1.3', { ...GOOD, minVersion: 'TLSv1.3' }),
  trusted('wants a client certificate and gets it', WANTING, {
    tls: { ...tls, certificate: client.certificate, key: client.key },
  }),
  untrusted('has a certificate of an authority that nobody knows', GOOD, {}),
  untrusted('has a certificate of another authority', serving({}, createAuthority('Other'))),
  untrusted('has a certificate that has expired', serving({ notAfter: new Date('2021-01-01T00:00:00Z') })),
  untrusted(
    'has a certificate that is not valid yet',
    serving({ notBefore: new Date('2045-01-01T00:00:00Z') }),
  ),
  untrusted('has a certificate for another name', serving({ hosts: ['other.example'] })),
  untrusted('speaks TLS 1.1 at most', {
    ...GOOD,
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  }),
  untrusted('wants a client certificate and gets none', WANTING),
  over(
    WANTING,
    // Node's server closes the connection where others send an alert.
    failing('wants a client certificate and gets that of another authority', accepts, /^(Tls|Reset)$/),
    { tls: { ...tls, ...ofAnother() } },
  ),
  bare('never reads what begins TLS', neverReads, /^Timeout$/, HURRIED),
  bare('reads what begins TLS and says nothing', readsOn, /^Timeout$/, HURRIED),
  bare('stalls within the handshake', beginsHandshake, /^Timeout$/, HURRIED),
  bare('answers the handshake with an alert', alerts, /^Tls$/),
  bare('closes within the handshake', closesInHandshake, /^(Tls|Reset)$/),
  bare('speaks HTTP where TLS is expected', (line) => line.write('HTTP/1.1 200 OK\r\n\r\n'), /^Tls$/),
  {
    ...failing('expects TLS where HTTP is spoken', accepts, /^(Reset|Protocol)$/),
    consumer: { scripts: [accepts], tls: GOOD },
    scheme: 'http',
  },
];

function ofAnother() {
  const { certificate, key } = createAuthority('Another').issue({ hosts: ['tallystick'] });
  return { certificate, key };
}
