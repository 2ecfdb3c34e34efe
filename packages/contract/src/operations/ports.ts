import { integerField, integerParameter, optionalBody } from '../fields.ts';
import { closedPortSchema, maxPort, portListSchema, portSchema } from '../resources/port.ts';
import { operation, sandboxParameters } from './operation.ts';

/** POST /sandboxes/{id}/ports */
export const exposePort = operation({
  id: 'exposePort',
  method: 'POST',
  path: '/sandboxes/{id}/ports',
  tag: 'Ports',
  summary: 'Expose a port',
  description:
    'Exposes a port of the sandbox on a public https URL. A second request for the same port returns the same URL. The server in the sandbox may listen on localhost only. The URL stops working when the sandbox stops.',
  params: sandboxParameters,
  body: optionalBody({
    port: integerField('port', 1, maxPort).meta({
      description: 'The port that the server in the sandbox listens on.',
      examples: [3000],
    }),
  }),
  responses: { 201: portSchema },
  outcomes: { 201: 'The open preview.' },
  errors: ['invalid_request', 'not_found'],
});

/** GET /sandboxes/{id}/ports */
export const listPorts = operation({
  id: 'listPorts',
  method: 'GET',
  path: '/sandboxes/{id}/ports',
  tag: 'Ports',
  summary: 'List open previews',
  description: 'Oldest first. Empty unless the sandbox is running; 404 once it is deleted.',
  params: sandboxParameters,
  responses: { 200: portListSchema },
  outcomes: { 200: 'The open previews.' },
  errors: ['not_found'],
});

/** DELETE /sandboxes/{id}/ports/{port} */
export const closePort = operation({
  id: 'closePort',
  method: 'DELETE',
  path: '/sandboxes/{id}/ports/{port}',
  tag: 'Ports',
  summary: 'Close a preview',
  description: 'The URL stops working immediately. The server in the sandbox keeps running.',
  params: sandboxParameters.extend({
    port: integerParameter('port', 1, maxPort)
      .describe('The exposed port.')
      .meta({ examples: [3000] }),
  }),
  responses: { 200: closedPortSchema },
  outcomes: { 200: 'The preview is closed.' },
  errors: ['invalid_request', 'not_found'],
});
