import type { StoredPage } from '../core/model/error-page.js'

/** Values of the tokens that a page of the owner of a site can have in it. */
export interface PageValues {
  readonly clientAddress: string
  readonly rayId: string
  /** ISO code. Empty if it is not known. */
  country(): string
  /** HTML that explains an error of the proxy. */
  box?(): string
}

const VALUES: Readonly<Record<string, (values: PageValues) => string>> = {
  '::CLIENT_IP::': ({ clientAddress }) => clientAddress,
  '::RAY_ID::': ({ rayId }) => rayId,
  '::GEO::': (values) => values.country(),
  '::CLOUDFLARE_ERROR_500S_BOX::': (values) => values.box?.() ?? '',
  '::CLOUDFLARE_ERROR_1000S_BOX::': (values) => values.box?.() ?? '',
}
const TOKEN = new RegExp(`(${Object.keys(VALUES).join('|')})`)

/** Tokens of one page that are replaced. Text after them is sent unchanged. */
const MAX_TOKENS = 100

/** A page with tokens. Requests share the bytes between the tokens. */
export class PageTemplate {
  readonly #parts: readonly (Buffer | ((values: PageValues) => string))[]

  constructor(text: string) {
    // Odd pieces are tokens.
    const pieces = text.split(TOKEN)
    const rest = pieces.slice(2 * MAX_TOKENS).join('')
    this.#parts = [...pieces.slice(0, 2 * MAX_TOKENS), rest].flatMap((piece, index) => {
      const value = index % 2 === 1 && index < 2 * MAX_TOKENS ? VALUES[piece] : undefined
      return value ?? (piece === '' ? [] : Buffer.from(piece))
    })
  }

  /** Returns the bytes of the page in parts. */
  render(values: PageValues): readonly Buffer[] {
    return this.#parts.map((part) => (Buffer.isBuffer(part) ? part : Buffer.from(part(values))))
  }
}

/** Templates of stored pages. The object stays the same while the page is stored. */
const templates = new WeakMap<StoredPage, PageTemplate>()

/** Returns the template of a stored page. Its text is read once. */
export function templateOf(page: StoredPage): PageTemplate {
  let template = templates.get(page)
  if (!template) templates.set(page, (template = new PageTemplate(Buffer.from(page.content, 'base64').toString())))
  return template
}

/** Returns the Content-Type of a stored page. JSON has no charset. */
export const contentTypeOf = (type: string): string => (type.startsWith('text/') ? `${type}; charset=utf-8` : type)
