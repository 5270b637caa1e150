// Certificates made at run time: an authority, and those that it issues to servers and clients. X.509 version 3 (RFC 5280) with
// keys on P-256, written in DER by hand, since Node reads certificates and makes none.

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import { isIP } from 'node:net';
import { addressBytes } from './address-bytes.ts';

/** In PEM. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

export interface Wanted {
  /** Host names and IP addresses; the first one is the subject's name. */
  readonly hosts: readonly string[];
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

export interface Authority extends Certificate {
  issue(wanted: Wanted): Certificate;
}

const NOT_BEFORE = new Date('2020-01-01T00:00:00Z');
const NOT_AFTER = new Date('2049-01-01T00:00:00Z');

interface Issuer {
  readonly name: string;
  readonly key: KeyObject;
}

export function createAuthority(name = 'Test authority'): Authority {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = { name, key: privateKey };
  const isAuthority = extension('2.5.29.19', sequence(TRUE), true);
  return {
    ...made({
      name,
      key: privateKey,
      issuer,
      extensions: [isAuthority],
      notBefore: NOT_BEFORE,
      notAfter: NOT_AFTER,
    }),
    issue({ hosts, notBefore = NOT_BEFORE, notAfter = NOT_AFTER }) {
      const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
      const names = hosts.map((host) =>
        isIP(host) === 0 ? tagged(0x82, Buffer.from(host)) : tagged(0x87, addressBytes(host)),
      );
      const extensions = [extension('2.5.29.17', sequence(...names))];
      return made({ name: hosts[0]!, key, issuer, extensions, notBefore, notAfter });
    },
  };
}

interface Made {
  readonly name: string;
  readonly key: KeyObject;
  readonly issuer: Issuer;
  readonly extensions: readonly Buffer[];
  readonly notBefore: Date;
  readonly notAfter: Date;
}

let serial = 1;

function made({ name, key, issuer, extensions, notBefore, notAfter }: Made): Certificate {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const ecdsaWithSha256 = sequence(objectId('1.2.840.10045.4.3.2'));
  const toSign = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, Buffer.from([1, ...numberBytes((serial += 1))])),
    ecdsaWithSha256,
    nameOf(issuer.name),
    sequence(time(notBefore), time(notAfter)),
    nameOf(name),
    spki,
    tagged(0xa3, sequence(...extensions, keyIdentifier('2.5.29.14', spki))),
  );
  const signature = sign('sha256', toSign, issuer.key);
  const der = sequence(toSign, ecdsaWithSha256, tagged(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = der.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: createPrivateKey(key.export({ type: 'pkcs8', format: 'pem' })).export({
      type: 'pkcs8',
      format: 'pem',
    }) as string,
  };
}

function nameOf(commonName: string): Buffer {
  return sequence(tagged(0x31, sequence(objectId('2.5.4.3'), tagged(0x0c, Buffer.from(commonName)))));
}

/** In years before 2050 the short form is the one to use. */
function time(at: Date): Buffer {
  return tagged(0x17, Buffer.from(`${at.toISOString().replace(/\D/g, '').slice(2, 14)}Z`));
}

const TRUE = tagged(0x01, Buffer.from([0xff]));

function extension(id: string, value: Buffer, isCritical = false): Buffer {
  return sequence(objectId(id), ...(isCritical ? [TRUE] : []), tagged(0x04, value));
}

function keyIdentifier(id: string, spki: Buffer): Buffer {
  return extension(id, tagged(0x04, createHash('sha256').update(spki).digest().subarray(0, 20)));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const bytes = numberBytes(length);
  const head = length < 0x80 ? [tag, length] : [tag, 0x80 + bytes.length, ...bytes];
  return Buffer.concat([Buffer.from(head), content]);
}

/** Big-endian, without leading zeros. */
function numberBytes(number: number): number[] {
  return number < 256 ? [number] : [...numberBytes(Math.floor(number / 256)), number % 256];
}

function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  const arcs = others.flatMap((arc) => {
    const digits = [arc % 128];
    for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128))
      digits.unshift(0x80 + (rest % 128));
    return digits;
  });
  return tagged(0x06, Buffer.from([first * 40 + second, ...arcs]));
}
