import { checkAccess } from './access-matrix.ts';
import { GRAPHQL } from './speakers/graphql.ts';
import { tellStory } from './story.ts';
import { compareWorlds } from './two-worlds.ts';

tellStory(GRAPHQL);
checkAccess(GRAPHQL);
compareWorlds(GRAPHQL);
