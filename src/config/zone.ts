import { Type } from 'typebox'
import { ZoneSettingValues } from '../core/model/zone-settings.js'
import { strict } from '../core/schema.js'
import { ZoneAgents } from './zones/agents.js'
import { ZoneCache } from './cache.js'
import { ORIGIN_OPTIONS, PATH_ORIGIN_OPTIONS } from './origins.js'
import { Auth } from './zones/auth.js'
import { ZoneRulesOfFile } from './zones/file-rules.js'
import { paths, Root } from './zones/paths.js'
import { EXAMPLE_ACCOUNT, EXAMPLE_ZONE, Id } from './values.js'

/** An item of `zones`. */
export const Zone = Type.Object(
  {
    id: Id(EXAMPLE_ZONE, 'Identifier of the zone.'),
    account: Id(EXAMPLE_ACCOUNT, 'Identifier of its account.'),
    name: Type.String({ minLength: 1, maxLength: 253, description: 'Domain name.', examples: ['example.com'] }),
    hostnames: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
        minItems: 1,
        description:
          'Host names served, `*.` allowed in front. "*" serves every host that no other zone names. Default: the name and ' +
          'every subdomain.',
        examples: [['example.com', '*.example.com']],
      }),
    ),
    ...ORIGIN_OPTIONS,
    root: Type.Optional(Root),
    paths: paths(PATH_ORIGIN_OPTIONS),
    auth: Type.Optional(Auth),
    rules: ZoneRulesOfFile,
    origin_ca_file: Type.Optional(
      Type.String({
        description: 'PEM file of the authority that signs an https origin, added to the default ones.',
        examples: ['./origin-ca.pem'],
      }),
    ),
    client_ca_file: Type.Optional(
      Type.String({
        description:
          'PEM file of the authorities that sign certificates of clients. Clients are then asked for a certificate over ' +
          'HTTPS, and rules read it in cf.tls_client_auth.*; without a rule, requests pass with any certificate and without.',
        examples: ['./client-ca.pem'],
      }),
    ),
    plan: Type.Union(
      [Type.Literal('free'), Type.Literal('pro'), Type.Literal('business'), Type.Literal('enterprise')],
      { default: 'pro', description: 'Free zones have no Markdown conversion.' },
    ),
    settings: Type.Object(
      {
        content_converter: Type.Union([Type.Literal('on'), Type.Literal('off')], {
          default: 'off',
          description:
            'Convert HTML responses to Markdown if the client accepts it. In force until the API sets another value.',
        }),
        ...Type.Partial(Type.Object(ZoneSettingValues)).properties,
      },
      { ...strict, default: {}, description: 'Settings of the zone. In force until the API sets other values.' },
    ),
    negotiation: Type.Union([Type.Literal('listed'), Type.Literal('preferred')], {
      default: 'listed',
      description: 'preferred: Markdown only if its quality is not below that of text/html.',
    }),
    markdown: Type.Object(
      {
        content: Type.Union([Type.Literal('page'), Type.Literal('main')], {
          default: 'page',
          description:
            'page: the body without headers, footers and navigation. main: only the main content; the whole page if it cannot be recognized. Buffers up to 64 KB of Markdown per page in proxy.markdown_memory.',
        }),
        md_addresses: Type.Boolean({
          default: false,
          description: 'Serve the Markdown of /page at /page.md and of / at /index.md, if content_converter is on.',
        }),
        links: Type.Union([Type.Literal('written'), Type.Literal('absolute')], {
          default: 'written',
          description:
            'absolute: addresses of links and images in Markdown begin with the scheme and host of the site, so that they work in a copy of the text. agents.hint implies it.',
        }),
        compress: Type.Boolean({
          default: false,
          description:
            'Compress Markdown as the Accept-Encoding of the client allows. false: Markdown has no Content-Encoding, unless a compress_response rule matches.',
        }),
        llms_txt: Type.String({
          pattern: '^(off|front_page|sitemap|/[!-~]{1,1023})$',
          default: 'off',
          description:
            'Create /llms.txt from the links of the front page, from /sitemap.xml (sitemap), or from the sitemap or page at a path, if ' +
            'content_converter is on. off: the file of the origin.',
          examples: ['/wp-sitemap-posts-page-1.xml'],
          'x-message':
            'must be off, front_page, sitemap, or the path of a sitemap or page, as in /wp-sitemap-posts-page-1.xml',
        }),
      },
      { ...strict, default: {}, description: 'Conversion to Markdown.' },
    ),
    agents: ZoneAgents,
    websockets: Type.Boolean({ default: true, description: 'Pass WebSocket upgrades through to the origin.' }),
    cache: ZoneCache,
    compress: Type.Boolean({
      default: false,
      description:
        'Compress HTML, CSS, JavaScript and other text for clients that accept it, except for Markdown. false: only ' +
        'compress_response rules compress.',
    }),
    custom_hostnames: Type.Union([Type.Literal('selected'), Type.Literal('all')], {
      default: 'selected',
      description:
        'all: conversion is on for every custom hostname of the zone, with any metadata. In force until the API sets ' +
        'edged_custom_hostnames.',
    }),
  },
  strict,
)
