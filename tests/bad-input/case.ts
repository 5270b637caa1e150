// One bad request and what must be answered to it. The tables beside this file hold them by what is wrong.

export interface BadRequest {
  /** What is wrong. */
  readonly name: string;
  readonly method?: string;
  readonly path?: string;
  /** Added to the usual ones; undefined takes one away. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** An object is sent as JSON, a text or bytes as they are. */
  readonly body?: unknown;
  /** The whole request as bytes on the wire, instead of all the above. */
  readonly raw?: string | Buffer;
  readonly status: number;
  readonly code: string;
  /** A `field` that `error.details` must name. */
  readonly field?: string;
}

export const SINGLE = '/api/v1/audit-events';
export const BATCH = '/api/v1/audit-events/batch';

export const GOOD = {
  timestamp: '2026-01-02T03:04:05.678Z',
  actor: { actorType: 'User', userId: 'u-1', userName: 'ana@acme.test' },
  action: 'Delete.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
};

/** The good event with some of its text replaced, for what JSON.stringify cannot write. */
export function goodText(member: string): string {
  return `${JSON.stringify(GOOD).slice(0, -1)},${member}}`;
}
