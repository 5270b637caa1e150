// The stage of the story that is told over every protocol: a service, callers of two tenants with keys of their own, and the
// protocol beside REST, by which its answers are judged.

import assert from 'node:assert/strict';
import {
  isOffered,
  type IssuedKey,
  type OperationName,
  operationNamed,
  type OutputOf,
  type Role,
} from '@tallystick/contract';
import { PLATFORM_KEY, WITH_PLATFORM_KEY } from '../../packages/server/src/testing/admin-caller.ts';
import { startTestApp, type TestApp } from '../../packages/server/src/testing/test-app.ts';
import { until } from '../../packages/server/src/testing/until.ts';
import type { Asking, Speaker, Spoken, Told } from './speaker.ts';
import { restSpeaker } from './speakers/rest.ts';

export interface Callers {
  /** Of the tenant acme. */
  readonly admin: Asking;
  readonly viewer: Asking;
  /** Of the tenant globex. */
  readonly other: Asking;
}

export interface Stage extends AsyncDisposable {
  readonly app: TestApp;
  readonly speaker: Speaker;
  readonly rest: Speaker;
  readonly callers: Callers;
  /** In the protocol; over REST what it does not offer. */
  ask(name: OperationName, input: object, by?: Asking): Promise<Told>;
  /** The body of an answer that must be no error. */
  told<N extends OperationName>(name: N, input: object, by?: Asking): Promise<OutputOf<N>>;
  /** The same over REST, in the same version. */
  toldByRest<N extends OperationName>(name: N, input: object, by?: Asking): Promise<OutputOf<N>>;
  /** Until all that was sent can be found. */
  caughtUp(): Promise<void>;
}

export async function setStage(spoken: Spoken, settings: Record<string, string> = {}): Promise<Stage> {
  await using building = new AsyncDisposableStack();
  const app = building.use(
    await startTestApp({ ...WITH_PLATFORM_KEY, Telemetry__Level: 'Warn', ...spoken.settings, ...settings }),
  );
  const speaker = building.use(await spoken.speak(app));
  const rest = restSpeaker(app);
  const [version] = spoken.versions;
  const keyOf = async (tenant: string, role: Role): Promise<Asking> => {
    // In the version that is not under test.
    const by: Asking = { key: PLATFORM_KEY, tenant, version: version === 'v1' ? 'v2' : 'v1' };
    const made = await rest.ask(
      'apiKeys.create',
      { key: { name: role, roles: [role], tenantId: tenant } },
      by,
    );
    return { key: (bodyOf('apiKeys.create', made) as IssuedKey).key!, tenant };
  };
  const callers = {
    admin: await keyOf('acme', 'Admin'),
    viewer: await keyOf('acme', 'Viewer'),
    other: await keyOf('globex', 'Admin'),
  };
  const asIn = (by: Asking): Asking => (version === undefined ? by : { version, ...by });
  const ask: Stage['ask'] = (name, input, by = callers.admin) =>
    isOffered(operationNamed(name), speaker.protocol)
      ? speaker.ask(name, input, by)
      : rest.ask(name, input, asIn(by));
  const built = building.move();
  return {
    app,
    speaker,
    rest,
    callers,
    ask,
    told: async <N extends OperationName>(name: N, input: object, by?: Asking) =>
      bodyOf(name, await ask(name, input, by)) as OutputOf<N>,
    toldByRest: async <N extends OperationName>(name: N, input: object, by = callers.admin) =>
      bodyOf(name, await rest.ask(name, input, asIn(by))) as OutputOf<N>,
    caughtUp: () =>
      until(async () => {
        // To see a Secret event leaves a notice: a wait that showed events would write what it waits for.
        const input = { limit: 1, actorId: ['nobody-at-all'] };
        const { headers } = await rest.ask('events.list', input, callers.admin);
        return headers['x-projection-lag-ms'] === '0';
      }),
    [Symbol.asyncDispose]: () => built.disposeAsync(),
  };
}

export function bodyOf(name: OperationName, { error, body }: Told): unknown {
  assert.equal(error, undefined, `${name}: ${JSON.stringify(error)}`);
  return body;
}
