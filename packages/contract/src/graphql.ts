// The interface over GraphQL, made from the operations. A package path of its own: only who speaks it loads it.

export { type GraphqlLink, LINKS } from './graphql/links.ts';
export { BY_SELECTION, graphqlFields, sdlOf } from './graphql/sdl.ts';
export { GRAPHQL_NAMES, graphqlRoot } from './names/graphql.ts';
