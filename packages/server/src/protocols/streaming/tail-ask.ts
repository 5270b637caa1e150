// How a tail asks: each page is a call of an operation in the name of the request that asked for the tail. That request has
// entered and has taken its permit; the pages take none, but their credential is judged again.

import { type Answer, type InputOf, operationNamed } from '@tallystick/contract';
import { type Arrival, enter, type Gateway, passThrough } from '../../gateway/pipeline.ts';
import type { TailAsk, TailOperation } from './tail.ts';

export type TailArrival = Omit<
  Arrival,
  'operation' | 'receive' | 'addressedTenant' | 'idempotencyKey' | 'entered'
>;

export function tailAsk(arrival: TailArrival, gateway: Gateway): TailAsk {
  const unlimited = { ...gateway, rates: undefined };
  return async <Name extends TailOperation>(name: Name, input: InputOf<Name>) => {
    const { body } = await passThrough(
      {
        ...arrival,
        entered: await enter(arrival, unlimited),
        operation: operationNamed(name),
        addressedTenant: undefined,
        idempotencyKey: undefined,
        receive: () => ({
          input,
          violations: [],
          unlisted: 0,
          text: undefined,
          fingerprinted: undefined,
          placeOf: () => 'Message',
        }),
      },
      unlimited,
    );
    // The answer of the operation that was asked.
    return body as Answer<Name>['body'];
  };
}
