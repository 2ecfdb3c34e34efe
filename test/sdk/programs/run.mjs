import * as sdk from '@mayfly/sdk';
import { scenario } from './scenario.mjs';

const [baseUrl, apiKey, name] = (globalThis.Deno?.args ?? globalThis.process.argv.slice(2)).slice(-3);
console.log(JSON.stringify(await scenario(sdk, { baseUrl, apiKey, name })));
