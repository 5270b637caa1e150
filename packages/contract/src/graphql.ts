// The interface over GraphQL, made from the operations. A package path of its own: only who speaks it loads it.

export { GRAPHQL_NAMES, graphqlRoot } from './names/graphql.ts';
