import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { Flag, NotEmpty } from './shared.js'

const OffOnly = (description: string) => Type.Optional(Type.Literal(true, { description }))

const ConfigChanges = NotEmpty({
  automatic_https_rewrites: Flag('Links to http become https.'),
  autominify: Type.Optional(
    Type.Object({ css: Flag('Default: false.'), html: Flag('Default: false.'), js: Flag('Default: false.') }, strict),
  ),
  bic: Flag('Browser integrity check.'),
  content_converter: Flag('Convert HTML responses to Markdown if the client accepts it.'),
  content_converter_content: Type.Optional(
    Type.Enum(['page', 'main'], {
      description:
        'Parts of a page that are converted to Markdown: all but headers, footers and navigation, or the main content.',
    }),
  ),
  disable_apps: OffOnly('Deprecated.'),
  disable_pay_per_crawl: OffOnly('No payments by crawlers.'),
  disable_rum: OffOnly('No measurements in the page.'),
  disable_zaraz: OffOnly('No third-party tools in the page.'),
  email_obfuscation: Flag('Addresses are hidden from harvesters.'),
  fonts: Flag('Fonts are served from here.'),
  hotlink_protection: Flag('No images for other sites.'),
  mirage: Flag('Deprecated.'),
  opportunistic_encryption: Flag('Encryption for http links.'),
  polish: Type.Optional(Type.Enum(['off', 'lossless', 'lossy', 'webp'])),
  redirects_for_ai_training: Flag('Crawlers for training are sent to canonical pages.'),
  request_body_buffering: Type.Optional(Type.Enum(['none', 'standard', 'full'])),
  response_body_buffering: Type.Optional(Type.Enum(['none', 'standard'])),
  rocket_loader: Flag('Scripts are loaded late.'),
  security_level: Type.Optional(Type.Enum(['off', 'essentially_off', 'low', 'medium', 'high', 'under_attack'])),
  server_side_excludes: Flag('Marked parts are hidden from suspicious visitors.'),
  ssl: Type.Optional(Type.Enum(['off', 'flexible', 'full', 'strict', 'origin_pull'])),
  sxg: Flag('Deprecated. Signed exchanges.'),
  webmcp_enabled: Flag('The script bridge for browser agents.'),
  webmcp_packs: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
      maxItems: 100,
      description: 'Tool packs; an empty list switches all of them off, none given leaves them as they are.',
    }),
  ),
})

/** The settings that have an effect here, and for which values. */
const EFFECTIVE: Readonly<Record<string, (value: unknown) => boolean>> = {
  content_converter: () => true,
  content_converter_content: () => true,
  request_body_buffering: () => true,
  ssl: () => true,
  security_level: (value) => value === 'off' || value === 'essentially_off',
}

export const setConfig = action({
  name: 'set_config',
  summary: 'Changes settings of the zone for the request, and continues.',
  phases: ['http_config_settings'],

  params: ConfigChanges,

  inert: (params) =>
    Object.entries(params).flatMap(([name, value]) => (EFFECTIVE[name]?.(value) === true ? [] : [`/${name}`])),

  prepare: (params) => (run) => {
    const { exchange } = run
    run.change(() => {
      const { zone } = exchange
      const { settings } = exchange.decisions
      const { autominify, content_converter } = params
      exchange.decisions.settings = {
        ...settings,
        ...params,
        ...(autominify && { autominify: { ...settings.autominify, ...autominify } }),
        // The plan may have changed since the rule was stored. Custom hostnames need no plan.
        content_converter:
          (zone.plan !== 'free' || exchange.custom !== undefined) && (content_converter ?? settings.content_converter),
      }
    })
    return undefined
  },

  examples: [
    { phase: 'http_config_settings', params: { content_converter: true } },
    { phase: 'http_config_settings', params: { content_converter: true, content_converter_content: 'main' } },
    {
      phase: 'http_config_settings',
      params: {
        autominify: { css: true, html: false },
        disable_rum: true,
        polish: 'webp',
        request_body_buffering: 'full',
        response_body_buffering: 'none',
        security_level: 'essentially_off',
        ssl: 'origin_pull',
        webmcp_packs: [],
      },
    },
  ],
})
