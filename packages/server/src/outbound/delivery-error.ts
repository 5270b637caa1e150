// What went wrong at a destination of exports, on the way from where it is noticed to the outcome of the sending.

import type { DeliveryFault, DeliveryFaultReason, Sent } from '../exports/export-target.ts';

export class DeliveryError extends Error implements DeliveryFault {
  readonly reason: DeliveryFaultReason;
  readonly isFinal: boolean;

  constructor(
    reason: DeliveryFaultReason,
    message: string,
    options: ErrorOptions & { readonly isFinal?: boolean } = {},
  ) {
    const { isFinal = false, ...others } = options;
    super(message, others);
    this.reason = reason;
    this.isFinal = isFinal;
  }
}

/** `work` gives where the file is. */
export async function sentBy(work: () => Promise<string>): Promise<Sent> {
  try {
    return { status: 'Sent', location: await work() };
  } catch (fault) {
    if (fault instanceof DeliveryError) return { status: 'Failed', fault };
    throw fault;
  }
}
