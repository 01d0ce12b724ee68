import { Type, type Static } from 'typebox'
import { strict } from '../schema.js'

const Switch = (description: string, example: 'on' | 'off' = 'on') =>
  Type.Union([Type.Literal('on'), Type.Literal('off')], { description, examples: [example] })

const SecurityHeader = Type.Object(
  {
    strict_transport_security: Type.Object(
      {
        enabled: Type.Optional(
          Type.Boolean({ description: 'Send Strict-Transport-Security over HTTPS.', examples: [true] }),
        ),
        max_age: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: 63_072_000,
            description: 'Seconds; 0 makes browsers forget it.',
            examples: [31_536_000],
          }),
        ),
        include_subdomains: Type.Optional(Type.Boolean({ description: 'For all subdomains too.', examples: [true] })),
        preload: Type.Optional(
          Type.Boolean({ description: 'Allow the preload lists of browsers.', examples: [false] }),
        ),
        nosniff: Type.Optional(
          Type.Boolean({ description: 'Send X-Content-Type-Options: nosniff over HTTPS.', examples: [true] }),
        ),
      },
      strict,
    ),
  },
  { ...strict, description: 'HSTS (RFC 6797).' },
)

/** Values of the zone settings that the proxy applies, by id. The file and the API use the same names. */
export const ZoneSettingValues = {
  always_use_https: Switch('Redirect HTTP requests to HTTPS with 301.'),
  http2: Switch('HTTP/2 to clients, if proxy.tls.http2 allows it.'),
  min_tls_version: Type.Enum(['1.0', '1.1', '1.2', '1.3'], {
    description:
      'Lowest TLS version for the hosts of the zone, 1.2 or 1.3; 1.0 and 1.1 have no effect. Default: proxy.tls.min_version.',
    examples: ['1.2'],
  }),
  security_header: SecurityHeader,
  ssl: Type.Enum(['off', 'flexible', 'full', 'strict', 'origin_pull'], {
    description:
      'TLS to the origin. off, flexible: none. full: without a check of its certificate. strict, origin_pull: with it. Default: by the scheme of the origin, https is strict.',
    examples: ['strict'],
  }),
  websockets: Switch('Pass WebSocket upgrades to the origin.'),
}

/** Zone settings from the configuration or the API. A missing setting has its default. */
export type ZoneSettings = {
  readonly [Name in keyof typeof ZoneSettingValues]?: Static<(typeof ZoneSettingValues)[Name]>
}

export type SecurityHeader = Static<typeof SecurityHeader>
