import { headerOf, type RawHeaders } from '../../../http/headers.js'
import { NORMALIZATION } from '../../../core/model/transforms.js'
import type { ClientStream } from '../../client/client-stream.js'
import type { Exchange } from '../../exchange/exchange.js'
import { normalTarget, pathOf } from '../../exchange/normal-path.js'
import { siteOf } from '../../exchange/site.js'
import type { InternalGet } from '../../client/internal-get.js'
import { MAX_ADDRESS, MAX_CHARACTERS } from './tools.js'

export const MCP_PATH = '/.well-known/mcp'

/** Maximum bytes of a page that are read. */
const MAX_BYTES = 4 * 1024 * 1024
const MAX_REDIRECTS = 3

/** Error of a tool, as the agent reads it. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
}

/** A request of a client, and the parts that its tools need. */
export interface Caller {
  readonly exchange: Exchange
  readonly connection: ClientStream
  readonly get: InternalGet
  /** Registers the function that ends the work if the client leaves. */
  readonly cancels: Set<() => void>
}

/** A page of the site. */
export interface ReadPage {
  /** Path and query. */
  readonly target: string
  readonly url: string
  readonly title: string
  readonly text: string
  /** The text is the beginning of a longer one. */
  readonly isCut: boolean
  /** The price that the client has paid. Undefined if the page costs nothing. */
  readonly charged: string | undefined
}

/** Returns the path and query of an address on the site of a request. Throws ToolError for all others. */
function targetOn(exchange: Exchange, address: string): string {
  const site = siteOf(exchange)
  if (address.length > MAX_ADDRESS) throw new ToolError(`the address is longer than ${MAX_ADDRESS} characters`)
  if (!URL.canParse(address, `${site}/`)) throw new ToolError(`${address} is not an address`)
  const url = new URL(address, `${site}/`)
  if (!/^https?:$/.test(url.protocol) || url.host !== new URL(site).host || url.username !== '' || url.password !== '')
    throw new ToolError(`only pages of ${site} can be read`)
  const target = url.pathname + url.search
  if (pathOf(normalTarget(target, NORMALIZATION)).replace(/\/+$/, '') === MCP_PATH)
    throw new ToolError(`${MCP_PATH} is not a page`)
  return target
}

/** Reads a page as its client may read it. Throws ToolError if that is not possible. */
export async function readPage(caller: Caller, address: string): Promise<ReadPage> {
  const { exchange } = caller
  let target = targetOn(exchange, address)
  for (let redirects = 0; ; redirects++) {
    const { status, headers, body, isWhole } = await request(caller, target)
    const location = status >= 300 && status < 400 ? headerOf(headers, 'location') : undefined
    if (location !== undefined) {
      if (redirects === MAX_REDIRECTS) throw new ToolError(`${target} redirects more than ${MAX_REDIRECTS} times`)
      const from = `${siteOf(exchange)}${target}`
      if (!URL.canParse(location, from)) throw new ToolError(`${target} redirects to an invalid address`)
      target = targetOn(exchange, new URL(location, from).href)
      continue
    }
    if (status < 200 || status > 299) throw new ToolError(problemOf(target, status, headers))
    const type = headerOf(headers, 'content-type') ?? ''
    if (
      !/^(?:text\/|application\/(?:[\w.+-]+\+)?(?:json|xml)\b|$)/i.test(type) ||
      headerOf(headers, 'content-encoding') !== undefined
    )
      throw new ToolError(`${target} is not text: ${type}`)
    const text = decoded(body, type)
    const charged = headerOf(headers, 'crawler-charged')
    return {
      target,
      url: `${siteOf(exchange)}${target}`,
      title: titleOf(text) ?? target,
      text,
      isCut: !isWhole,
      charged,
    }
  }
}

function problemOf(target: string, status: number, headers: RawHeaders): string {
  if (status === 0) return `${target} gave no response`
  const price = headerOf(headers, 'crawler-price')
  if (price === undefined) return `${target} has status ${status}`
  const error = headerOf(headers, 'crawler-error') ?? ''
  return `${target} costs ${price} (${error}). Sign the call (Web Bot Auth) with crawler-exact-price or crawler-max-price among its components.`
}

async function request({ exchange, connection, get, cancels }: Caller, target: string) {
  const accept = 'text/markdown, text/plain;q=0.9, */*;q=0.5'
  const { response, cancel } = get({ exchange, connection, target, accept, maxBytes: MAX_BYTES })
  cancels.add(cancel)
  try {
    return await response
  } finally {
    cancels.delete(cancel)
  }
}

function decoded(body: Buffer, type: string): string {
  const charset = /charset\s*=\s*"?([\w-]+)/i.exec(type)?.[1] ?? 'utf-8'
  try {
    return new TextDecoder(charset).decode(body)
  } catch {
    return body.toString()
  }
}

/** Returns the title of a page in Markdown, from its frontmatter or its first heading. */
export function titleOf(markdown: string): string | undefined {
  const start = markdown.slice(0, 65_536)
  const [, quoted, plain] = /^---\n(?:(?!---)[^\n]*\n)*?title: (?:"((?:[^"\\\n]|\\.)*)"|([^\n]*))\n/.exec(start) ?? []
  const title = quoted?.replaceAll(/\\(.)/g, '$1') ?? plain ?? /^#{1,6} +(.+)$/m.exec(start)?.[1]
  const trimmed = title?.trim().slice(0, 300)
  return trimmed === '' ? undefined : trimmed
}

/** Returns the part of a text that fits into one result, with a line that says how to go on. */
export function partOf({ text, isCut }: ReadPage, offset: number): string {
  if (offset > text.length) throw new ToolError(`the page has ${text.length} characters`)
  // Half of a character cannot be sent.
  const isHalf = (at: number) => /[\udc00-\udfff]/.test(text.charAt(at)) && at < text.length
  const from = isHalf(offset) ? offset + 1 : offset
  let to = Math.min(text.length, from + MAX_CHARACTERS)
  if (isHalf(to)) to--
  const rest =
    to < text.length ? `\n\n[Cut at character ${to} of ${text.length}. Call fetch with offset ${to} to go on.]` : ''
  return text.slice(from, to) + (rest === '' && isCut ? '\n\n[The rest of the page is too long to be read.]' : rest)
}
