import { checkAccess } from './access-matrix.ts';
import { REST } from './speakers/rest.ts';
import { tellStory } from './story.ts';
import { compareWorlds } from './two-worlds.ts';

tellStory(REST);
checkAccess(REST);
compareWorlds(REST);
