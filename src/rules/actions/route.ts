import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { NotEmpty } from './shared.js'

const HostName = (description: string) =>
  Type.String({
    maxLength: 255,
    pattern: '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$',
    description,
    'x-message': 'must be a host name',
  })

const Params = NotEmpty({
  host_header: Type.Optional(
    Type.String({
      maxLength: 255,
      pattern: '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(:\\d{1,5})?$',
      description: 'The Host header that the origin gets, and its TLS name where sni is absent.',
      'x-message': 'must be a host name, with or without a port',
    }),
  ),
  origin: Type.Optional(
    NotEmpty({
      host: Type.Optional(HostName('Origin to connect to.')),
      port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
    }),
  ),
  sni: Type.Optional(Type.Object({ value: HostName('The name asked for in TLS.') }, strict)),
})

export const route = action({
  name: 'route',
  summary: 'Sends the request to another origin or under another name, and continues.',
  phases: ['http_request_origin'],

  params: Params,

  prepare: (params) => (run) => {
    const { exchange } = run
    run.change(() => {
      const { route } = exchange.decisions
      exchange.decisions.route = { ...route, ...params, origin: { ...route?.origin, ...params.origin } }
    })
    return undefined
  },

  examples: [
    {
      phase: 'http_request_origin',
      params: {
        host_header: 'origin.example.com',
        origin: { host: 'backend.example.com', port: 8443 },
        sni: { value: 'sni.example.com' },
      },
    },
    { phase: 'http_request_origin', params: { origin: { port: 8080 } } },
  ],
})
