// Documents as they were sent, parsed and found valid. Those that come often are kept by their text.

import type { DocumentNode, GraphQLError, OperationDefinitionNode } from 'graphql';
import { AuditError, LIMITS } from '@tallystick/contract';
import { checkLimits } from './document-limits.ts';
import type { GraphqlRequest } from './request.ts';
import type { ServedSchema } from './schema.ts';

const KEPT_MAX = 1000;
/** A longer one comes once. */
const KEPT_LENGTH_MAX = 16 * 1024;
const ERRORS_MAX = 20;

/** A document that may be executed, with the operation that is asked for. */
export interface AskedDocument {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
}

export class Documents {
  readonly #served: ServedSchema;
  readonly #hasIntrospection: boolean;
  /** The one that was asked for last is the last. */
  readonly #kept = new Map<string, DocumentNode>();

  constructor(served: ServedSchema, hasIntrospection: boolean) {
    this.#served = served;
    this.#hasIntrospection = hasIntrospection;
  }

  /** The errors of the document, where it has some; throws REQUEST_TOO_LARGE. */
  read({ query, operationName, variables }: GraphqlRequest): AskedDocument | readonly GraphQLError[] {
    const { library, schema } = this.#served;
    const kept = this.#kept.get(query);
    try {
      const document = kept ?? library.parse(query, { maxTokens: LIMITS.graphqlTokensMax });
      const operation = library.getOperationAST(document, operationName);
      if (operation === null || operation === undefined) return [this.#noOperation(document, operationName)];
      checkLimits(document, operation, this.#served, variables);
      if (kept === undefined) {
        const rules = this.#hasIntrospection
          ? library.specifiedRules
          : [...library.specifiedRules, library.NoSchemaIntrospectionCustomRule];
        const errors = library.validate(schema, document, rules, { maxErrors: ERRORS_MAX });
        if (errors.length > 0) return errors;
      }
      this.#keep(query, document);
      return { document, operation };
    } catch (error) {
      if (error instanceof library.GraphQLError) return [error];
      // Nested so deep that the parser has no room left.
      if (error instanceof RangeError) throw nestedTooDeep();
      throw error;
    }
  }

  #keep(query: string, document: DocumentNode): void {
    if (query.length > KEPT_LENGTH_MAX) return;
    this.#kept.delete(query);
    this.#kept.set(query, document);
    if (this.#kept.size > KEPT_MAX) this.#kept.delete(this.#kept.keys().next().value!);
  }

  #noOperation({ definitions }: DocumentNode, name: string | undefined): GraphQLError {
    const { Kind, GraphQLError: Refusal } = this.#served.library;
    const isOperation = ({ kind }: DocumentNode['definitions'][number]) => kind === Kind.OPERATION_DEFINITION;
    if (!definitions.some(isOperation)) return new Refusal('The document has no operation.');
    return new Refusal(
      name === undefined
        ? 'The document has several operations: say in operationName which is asked for.'
        : 'The document has no operation of the name in operationName.',
    );
  }
}

function nestedTooDeep(): AuditError {
  const issue = `is nested too deep; the limit is ${LIMITS.graphqlDepthMax} fields inside one another`;
  return new AuditError('REQUEST_TOO_LARGE', `The document ${issue}.`, {
    details: [{ field: 'query', issue }],
  });
}
