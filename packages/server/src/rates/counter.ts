// Where requests are counted: in this process, or in a place that several nodes share.

export interface Count {
  /** Requests in the window, this one among them. */
  readonly used: number;
  /** Until the window ends; undefined where windows do not end by themselves. */
  readonly endsInMs: number | undefined;
}

/** The counts of one limiter. */
export interface Counter {
  /**
   * Counts one more request of the partition. A window begins with the first one; without a length it ends when everything is
   * cleared.
   */
  add(partition: string, windowMs: number | undefined): Count | Promise<Count>;
  /** Forgets all of them; throws SERVICE_UNAVAILABLE where it cannot. */
  clear(): void | Promise<void>;
}

export type CounterOf = (limiter: string) => Counter;
