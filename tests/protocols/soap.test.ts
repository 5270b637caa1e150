import { checkAccess } from './access-matrix.ts';
import { SOAP } from './speakers/soap.ts';
import { tellStory } from './story.ts';
import { compareWorlds } from './two-worlds.ts';

tellStory(SOAP);
checkAccess(SOAP);
compareWorlds(SOAP);
