import { useVisited } from '../support/previews/visited.ts';
import { crowd } from './suites/crowd.ts';
import { ends } from './suites/ends.ts';
import { smuggling } from './suites/smuggling.ts';
import { streaming } from './suites/streaming.ts';
import { walls } from './suites/walls.ts';

// One sandbox for all of them, since it takes longest to start; the last ends it.
const visited = useVisited();
streaming(visited);
walls(visited);
smuggling(visited);
crowd(visited);
ends(visited);
