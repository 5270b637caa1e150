// Addresses by the registries of IANA and by what clouds have on them, in every form in which one can be written.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { runs } from '../../../../evidence/src/testing/size.ts';
import { type AddressRule, anyButMetadata, loopbackOnly, publicOnly } from './address-rules.ts';
import { targetOf } from './target.ts';

function judges(rule: AddressRule, allowed: readonly string[], refused: readonly string[]): void {
  for (const address of allowed) assert.ok(rule.allows(address), `${address} is allowed`);
  for (const address of refused) assert.ok(!rule.allows(address), `${address} is refused`);
}

const MACHINES = ['1.1.1.1', '8.8.8.8', '93.184.216.34', '192.0.1.1', '172.15.255.255', '172.32.0.1'];
const MACHINES_V6 = ['2606:4700:4700::1111', '2a00:1450:4001:80b::200e', '2001:200::1', '2003::1'];
const LOOPBACK = ['127.0.0.1', '127.255.255.254', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1'];
const PRIVATE = [
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '100.64.0.1',
  'fc00::1',
  'fd12:3456::1',
];
const MAPPED_PRIVATE = ['::ffff:10.0.0.1', '::ffff:c0a8:101', '64:ff9b::a00:1', '::10.0.0.1'];
const METADATA = [
  '169.254.169.254',
  '169.254.170.2',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '::169.254.169.254',
  '64:ff9b::169.254.169.254',
  '64:ff9b:1::a9fe:a9fe',
  '::ffff:0:169.254.169.254',
  '2002:a9fe:a9fe::1',
  '2001:0:4136:e378:8000:63bf:5601:5601',
  '168.63.129.16',
  '64:ff9b::168.63.129.16',
  '100.100.100.200',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd20:ce::254',
  'fe80::1',
  'fe80::a9fe:a9fe',
];
const NO_MACHINE = [
  '0.0.0.0',
  '::',
  '224.0.0.1',
  '239.255.255.250',
  '255.255.255.255',
  '240.0.0.1',
  'ff02::1',
];
const SPECIAL = [
  '192.0.0.1',
  '192.0.2.1',
  '192.88.99.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.7',
  '100.127.255.255',
  '::ffff:8.8.8.8',
  '64:ff9b::8.8.8.8',
  '64:ff9b:1::1',
  '::8.8.8.8',
  '::ffff:0:8.8.8.8',
  '100::1',
  '2001::1',
  '2001:2::1',
  '2001:10::1',
  '2001:db8::1',
  '2002:808:808::1',
  '3fff::1',
  '5f00::1',
  'fec0::1',
  '4000::1',
];

describe('addresses', () => {
  it('are public where IANA calls them globally reachable, and no form carries another one past that', () => {
    judges(
      publicOnly,
      [...MACHINES, ...MACHINES_V6],
      [...LOOPBACK, ...PRIVATE, ...MAPPED_PRIVATE, ...METADATA, ...NO_MACHINE, ...SPECIAL],
    );
  });

  it('are any but those of metadata services, of link-local and of no machine, where private networks are allowed', () => {
    judges(
      anyButMetadata,
      [...MACHINES, ...MACHINES_V6, ...LOOPBACK, ...PRIVATE, ...MAPPED_PRIVATE],
      [...METADATA, ...NO_MACHINE],
    );
  });

  it('are on this machine in all forms of loopback, and in no other', () => {
    judges(loopbackOnly, LOOPBACK, [
      '128.0.0.1',
      '10.0.0.1',
      '0.0.0.0',
      '::',
      '::2',
      '::ffff:10.0.0.1',
      '::127.0.0.1',
    ]);
  });
});

const ipv4 = fc.tuple(...Array.from({ length: 4 }, () => fc.nat(255)));
describe('every IPv4 address', () => {
  const RUNS = { numRuns: runs(2000) };

  it('is judged alike in each of its notations', () => {
    fc.assert(
      fc.property(ipv4, ([a, b, c, d]) => {
        const number = ((a! * 256 + b!) * 256 + c!) * 256 + d!;
        const octal = [a, b, c, d].map((byte) => `0${byte!.toString(8)}`).join('.');
        const written = [
          `${a}.${b}.${c}.${d}`,
          `${a}.${b}.${c! * 256 + d!}`,
          String(number),
          `0x${number.toString(16)}`,
          `0x${a!.toString(16)}.${b}.${c}.0x${d!.toString(16)}`,
          octal,
        ];
        const judged = written.map((host) => passes(`https://${host}/`, publicOnly));
        assert.equal(new Set(judged).size, 1, written.join(' '));
      }),
      RUNS,
    );
  });

  it('is never public inside an IPv6 one, and no form hides one of a metadata service', () => {
    fc.assert(
      fc.property(ipv4, fc.boolean(), ([a, b, c, d], isMetadata) => {
        const [high, low] = isMetadata ? [0xa9_fe, c! * 256 + d!] : [a! * 256 + b!, c! * 256 + d!];
        const [x, y] = [high.toString(16), low.toString(16)];
        const hidden = (0xff_ff - high).toString(16);
        const mapped = `::ffff:${x}:${y}`;
        const carrying = [
          mapped,
          `::${x}:${y}`,
          `64:ff9b::${x}:${y}`,
          `64:ff9b:1::${x}:${y}`,
          `::ffff:0:${x}:${y}`,
        ];
        carrying.push(`2002:${x}:${y}::1`, `2001:0:1:2:3:4:${hidden}:${(0xff_ff - low).toString(16)}`);
        for (const form of carrying) {
          assert.ok(!publicOnly.allows(form), form);
          if (isMetadata) assert.ok(!anyButMetadata.allows(form), form);
        }
        const plain = `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
        assert.equal(anyButMetadata.allows(mapped), anyButMetadata.allows(plain), mapped);
      }),
      RUNS,
    );
  });
});

function passes(url: string, rule: AddressRule): boolean {
  try {
    return targetOf(url, { https: rule, http: rule }).isAddress;
  } catch {
    return false;
  }
}

describe('a URL as it is written', () => {
  const refusal = (url: string, https = publicOnly) => {
    try {
      targetOf(url, { https, http: https === publicOnly ? { ...publicOnly, allows: () => false } : https });
    } catch (error) {
      return (error as Error).message;
    }
    return undefined;
  };

  it('is refused for an address that is not public, in every notation', () => {
    for (const host of [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f000001',
      '0x7f.1',
      '0177.0.0.1',
      '017700000001',
      '127.0.0.1.',
      '１２７.0.0.1',
      '127%2E0%2E0%2E1',
      '[::1]',
      '[0:0:0:0:0:0:0:1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '[fe80::1]',
      '[fd00::1]',
      '10.0.0.1',
      '169.254.169.254',
      '2852039166',
      '100.64.0.1',
      '0',
    ]) {
      assert.match(refusal(`https://${host}/hook`) ?? 'allowed', /is not public/, host);
    }
    assert.equal(refusal('https://8.8.8.8/hook'), undefined);
    assert.equal(refusal('https://134744072/hook'), undefined, '8.8.8.8 as one number');
    assert.equal(refusal('https://[2606:4700:4700::1111]:8443/hook'), undefined);
  });

  it('is refused for a name that leads into a private network, whatever it resolves to', () => {
    for (const host of [
      'localhost',
      'LOCALHOST',
      'localhost.',
      'a.localhost',
      'printer.local',
      'vault.internal',
      'metadata.google.internal',
      'metadata.google.internal.',
    ]) {
      assert.match(refusal(`https://${host}/hook`) ?? 'allowed', /is not public/, host);
      assert.equal(refusal(`https://${host}/hook`, anyButMetadata), undefined, host);
    }
    for (const host of ['local.example', 'notlocalhost.example', 'internal.example.com', 'mylocal']) {
      assert.equal(refusal(`https://${host}/hook`), undefined, host);
    }
  });

  it('is refused for its scheme and for credentials, which the message does not repeat', () => {
    for (const url of [
      'ftp://a.example/',
      'file:///etc/passwd',
      'data:,x',
      'javascript:0',
      '//a.example',
      'a b',
      '',
    ]) {
      assert.ok(refusal(url) !== undefined, url);
    }
    const message = refusal('https://me:hunter2@a.example/')!;
    assert.match(message, /has a user name or a password in it/);
    assert.doesNotMatch(message, /hunter2/);
    assert.ok(refusal('https://me@a.example/') !== undefined);
  });
});
