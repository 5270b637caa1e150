// Consumers whose names lead elsewhere once their subscription is stored.

import { accepts } from '../../../packages/server/src/testing/consumer-scripts.ts';
import type { NamedAnswer, NameServer } from '../../../packages/server/src/testing/name-server.ts';
import { acknowledged, type BadConsumer, failing, HURRIED } from './bad-consumer.ts';

const HERE = '127.0.0.1';
/** Where clouds give out credentials. */
const METADATA = '169.254.169.254';

export function nameCases({ names }: NameServer): readonly BadConsumer[] {
  const later = (label: string, of: BadConsumer, answer: NamedAnswer | undefined): BadConsumer => {
    const host = `${label}.example`;
    names.set(host, { addresses: [HERE] });
    return {
      ...of,
      host,
      moves: () => void (answer === undefined ? names.delete(host) : names.set(host, answer)),
    };
  };
  const unasked = (label: string, name: string, fault: RegExp, answer: NamedAnswer | undefined) => ({
    ...later(label, failing(name, accepts, fault), answer),
    isUnasked: true,
  });
  return [
    later('stays', acknowledged('has a name that leads to it', accepts), { addresses: [HERE] }),
    later('slow', acknowledged('has a slow name server', accepts), {
      addresses: [HERE],
      delayMs: { A: 400, AAAA: 400 },
    }),
    unasked('rebinds', 'has a name that leads to credentials later', /^NotAllowed$/, {
      addresses: [METADATA],
    }),
    unasked('mixes', 'has a name that leads to credentials as well', /^NotAllowed$/, {
      addresses: [HERE, METADATA],
    }),
    unasked('mapped', 'has a name that leads to credentials by a mapped address', /^NotAllowed$/, {
      addresses: ['::ffff:a9fe:a9fe'],
    }),
    unasked('ends', 'has a name that is there no more', /^Dns$/, undefined),
    unasked('empty', 'has a name without an address', /^Dns$/, { addresses: [] }),
    unasked('fails', 'has a name server that fails', /^Dns$/, { addresses: [], fails: true }),
    {
      ...unasked('silent', 'has a name server that is silent', /^(Timeout|Dns)$/, {
        addresses: [],
        isSilent: true,
      }),
      subscription: HURRIED,
    },
  ];
}
