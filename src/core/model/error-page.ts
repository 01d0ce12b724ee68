import { kind } from '../store.js'

/** Content types of stored pages. */
export const PAGE_TYPES = ['application/json', 'text/html', 'text/plain', 'text/xml'] as const
export type PageType = (typeof PAGE_TYPES)[number]

/** Maximum bytes of a stored page. */
export const MAX_PAGE_BYTES = 1_500_000

/** A page as it was fetched from its URL. */
export interface StoredPage {
  /** Base64 of its bytes, which are UTF-8. */
  readonly content: string
  readonly size_bytes: number
  readonly type: PageType
}

/** A page that `serve_error` rules send. The scope is account or zone. The id is its name. */
export interface ErrorAsset extends StoredPage {
  readonly name: string
  readonly description: string
  readonly url: string
  /** When it was fetched. */
  readonly last_updated: string
}
export const ERROR_ASSETS = kind<ErrorAsset>('error_assets')

/**
 * The page that replaces a page of the proxy. The scope is account or zone. The id is one of {@link ERROR_PAGE_TYPES}.
 */
export interface ErrorPageSetting {
  readonly state: 'default' | 'customized'
  readonly url: string | null
  readonly created_on: string
  readonly modified_on: string
  /** Present if it is customized. */
  readonly page?: StoredPage
}
export const ERROR_PAGES = kind<ErrorPageSetting>('error_pages')

/** A page of the proxy, by the identifier of the public API. */
interface ErrorPageType {
  readonly description: string
  readonly preview_target: string
  /** Tokens without which a page is rejected. */
  readonly required_tokens: readonly string[]
  /** Stored, without effect here. */
  readonly inert?: true
}

const CHALLENGE = ['::CAPTCHA_BOX::']

/** The pages that can be replaced. */
export const ERROR_PAGE_TYPES = {
  '1000_errors': {
    description: '1000 class errors',
    preview_target: 'error:1000s',
    required_tokens: ['::CLOUDFLARE_ERROR_1000S_BOX::'],
  },
  '500_errors': {
    description: '500 class errors',
    preview_target: 'error:500s',
    required_tokens: ['::CLOUDFLARE_ERROR_500S_BOX::'],
  },
  // Challenges have a separate page, whose script the client has to run. Addresses are blocked only by rules.
  basic_challenge: {
    description: 'Interactive challenge',
    preview_target: 'block:basic-sec-captcha',
    required_tokens: CHALLENGE,
    inert: true,
  },
  country_challenge: {
    description: 'Country challenge',
    preview_target: 'captcha:country',
    required_tokens: CHALLENGE,
    inert: true,
  },
  ip_block: { description: 'IP and country block', preview_target: 'block:ip', required_tokens: [], inert: true },
  managed_challenge: {
    description: 'Managed challenge',
    preview_target: 'managed_challenge',
    required_tokens: CHALLENGE,
    inert: true,
  },
  ratelimit_block: { description: 'Rate limit block', preview_target: 'block:rate-limit', required_tokens: [] },
  under_attack: {
    description: 'JavaScript challenge',
    preview_target: 'interstitial',
    required_tokens: ['::IM_UNDER_ATTACK_BOX::'],
    inert: true,
  },
  waf_block: { description: 'WAF block', preview_target: 'block:waf', required_tokens: [] },
  waf_challenge: {
    description: 'WAF challenge',
    preview_target: 'captcha:waf',
    required_tokens: CHALLENGE,
    inert: true,
  },
} as const satisfies Readonly<Record<string, ErrorPageType>>

export type ErrorPageId = keyof typeof ERROR_PAGE_TYPES

/** Returns the type with this identifier, with the members that only some types have. */
export const errorPageType = (id: ErrorPageId): ErrorPageType => ERROR_PAGE_TYPES[id]
