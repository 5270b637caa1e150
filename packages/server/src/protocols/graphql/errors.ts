// Errors as GraphQL shows them: our code, details and ids in `extensions`. What the library says of values is put in our
// words, because it quotes them: a secret in a variable must not come back.

import type { GraphQLError } from 'graphql';
import { AuditError, cutText, type ErrorDetail, LIMITS } from '@tallystick/contract';
import { asAuditError, type ErrorPlace, shownError } from '../../gateway/shown-error.ts';
import type { Telemetry } from '../../telemetry.ts';
import type { Graphql } from './library.ts';

export interface ShownGraphqlError {
  readonly message: string;
  readonly locations?: readonly { readonly line: number; readonly column: number }[];
  readonly path?: readonly (string | number)[];
  readonly extensions: Readonly<Record<string, unknown>>;
}

export interface ErrorParts {
  readonly place: ErrorPlace;
  readonly nowMs: number;
  readonly telemetry: Telemetry;
}

export function shown(error: AuditError, { place, nowMs }: Omit<ErrorParts, 'telemetry'>): ShownGraphqlError {
  const { message, path: _, ...others } = shownError(error, place, nowMs);
  const { retryAfterSeconds } = error;
  return {
    message,
    extensions: { ...others, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) },
  };
}

/** Errors of fields. */
export function fieldErrors(
  errors: readonly GraphQLError[],
  library: Graphql,
  parts: ErrorParts,
): ShownGraphqlError[] {
  return errors.slice(0, LIMITS.graphqlErrorsMax).map((error) => {
    const cause = error.originalError ?? error;
    const audit =
      cause instanceof library.GraphQLError
        ? refused([{ field: 'query', issue: cutText(withoutValues(error.message)) }])
        : asAuditError(cause, parts.place, parts.telemetry);
    return { ...shown(audit, parts), ...placeIn(error) };
  });
}

/** Errors of a document: its syntax, or what it asks of the schema. */
export function documentErrors(
  errors: readonly GraphQLError[],
  isOpen: boolean,
  parts: Omit<ErrorParts, 'telemetry'>,
): ShownGraphqlError[] {
  return errors.map((error) => {
    const said = isOpen ? error.message : error.message.replace(/ Did you mean .*$/s, '');
    const issue = cutText(withoutValues(said));
    const audit = new AuditError('VALIDATION_FAILED', issue, { details: [{ field: 'query', issue }] });
    return { ...shown(audit, parts), ...placeIn(error) };
  });
}

/** Of a request: what it brings beside the document. */
export function refused(details: readonly ErrorDetail[]): AuditError {
  const [first] = details;
  const others = details.length > 1 ? `${details.length} violations; the first: ` : '';
  return new AuditError('VALIDATION_FAILED', `${others}${first?.field} ${first?.issue}.`, { details });
}

function placeIn({ locations, path }: GraphQLError): Pick<ShownGraphqlError, 'locations' | 'path'> {
  return { ...(locations !== undefined && { locations }), ...(path !== undefined && { path }) };
}

/** `String cannot represent a non string value: 5`. */
function withoutValues(message: string): string {
  return message.replace(/( value): .*$/s, '$1.');
}
