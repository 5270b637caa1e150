// The first docs of a view are in no index of terms and in no counts: to look at each of them takes a few milliseconds, and
// most tenants never have more. In an index of terms that all tenants share, nearly every term of a small one is new, and
// to add it there takes longer than all else that is done for an event.

/** Docs with a smaller index are the first ones. It stands in the definition of an index, and cannot change without a migration. */
export const FIRST_DOCS = 256;

/** Of docs as they are called: those that are in the index of terms. As a function, so that no other index knows of it. */
export const isBehindFirst = (docs = '') => `int8ge(${docs}leaf_index, ${FIRST_DOCS})`;
