// graphql-js, loaded when the first request comes, or a moment after the service is ready.

import { loadInSteps } from '../../runtime/load-in-steps.ts';

export type Graphql = typeof import('graphql');

/** Each needs those before it. */
const PARTS = ['error', 'language', 'type', 'utilities', 'execution', 'validation'];

let library: Promise<Graphql> | undefined;

export function loadLibrary(): Promise<Graphql> {
  library ??= loadInSteps(PARTS.map((part) => `graphql/${part}/index.mjs`)).then(() => import('graphql'));
  return library;
}
