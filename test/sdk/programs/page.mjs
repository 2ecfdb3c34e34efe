import * as sdk from '@mayfly/sdk';
import { scenario } from './scenario.mjs';

globalThis.runScenario = (target) => scenario(sdk, target);
