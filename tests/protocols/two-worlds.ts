// What a tenant is told over a protocol is the same whether or not other tenants say the same words; with few queries, since
// it is one index for all protocols.

import { it } from 'node:test';
import { requireAlike, type Voice } from '../../packages/server/src/testing/two-worlds.ts';
import type { TestApp } from '../../packages/server/src/testing/test-app.ts';
import type { Spoken } from './speaker.ts';
import { restSpeaker } from './speakers/rest.ts';
import { isOffered, operationNamed } from '@tallystick/contract';

/** They differ from one answer to the next in one service, too. */
const PASSING = /^(?:date|content-length|etag|link|x-projection-lag-ms|x-ratelimit-.*)$/;

export function compareWorlds(spoken: Spoken): void {
  it(`over ${spoken.protocol} a tenant is told the same whether or not others say the same words`, async () => {
    await using stack = new AsyncDisposableStack();
    const voiceOf = async (app: TestApp): Promise<Voice> => {
      const speaker = stack.use(await spoken.speak(app));
      const rest = restSpeaker(app);
      return async (name, input, clearance) => {
        const by = { key: clearance, tenant: 'acme' };
        const isSpoken = isOffered(operationNamed(name), spoken.protocol);
        const told = await (isSpoken ? speaker : rest).ask(name, input, by);
        const headers = Object.entries(told.headers).filter(([each]) => !PASSING.test(each));
        return JSON.stringify({ ...told, headers: Object.fromEntries(headers) });
      };
    };
    const settings = () => Promise.resolve(spoken.settings ?? {});
    await requireAlike({ settings, voiceOf, queries: ['refund', 're* -rare'] });
  });
}
