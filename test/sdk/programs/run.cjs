const sdk = require('@mayfly/sdk');

const [baseUrl, apiKey, name] = process.argv.slice(2);
void import('./scenario.mjs')
  .then(({ scenario }) => scenario(sdk, { baseUrl, apiKey, name }))
  .then((report) => console.log(JSON.stringify(report)));
