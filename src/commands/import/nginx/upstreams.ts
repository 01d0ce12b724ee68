import type { OriginEntry, Target } from '../site/model.js'
import type { Place, Report } from '../site/report.js'
import type { Directive } from './parse.js'

/** Directives of `upstream` that tune connections, which edged keeps open by itself. */
const TUNING = new Set(['keepalive', 'keepalive_requests', 'keepalive_timeout', 'keepalive_time', 'zone'])

/** The target of a `proxy_pass`, with the parts of its URL that matter beside it. */
export interface Proxied {
  readonly target: Target
  readonly scheme: 'http' | 'https'
  /** The host of the URL, with a port that is not the default: nginx sends it as Host. */
  readonly authority: string
  /** The path of the URL. Undefined if it has none: the path of the request stays. */
  readonly uri: string | undefined
}

/** Reads the `upstream` blocks of a configuration. */
export class Upstreams {
  readonly #blocks: ReadonlyMap<string, Directive>
  readonly #report: Report
  readonly #targets = new Map<string, Target | undefined>()

  constructor(blocks: readonly Directive[], report: Report) {
    this.#blocks = new Map(blocks.map((block) => [block.args[0] ?? '', block]))
    this.#report = report
  }

  /** Returns the target of a URL. Undefined, after a line in the report, if edged has none. */
  proxied(url: string, place: Place, part: string): Proxied | undefined {
    const [, scheme, rest = ''] = /^(https?):\/\/(.+)$/.exec(url) ?? []
    if ((scheme !== 'http' && scheme !== 'https') || rest.includes('$')) {
      const why = rest.includes('$') ? 'the URL has variables' : 'the URL is neither http nor https'
      this.#report.add(place, part, `${why}; name the origin in \`paths\``)
      return undefined
    }
    const socket = /^unix:([^:]+)(?::(\/.*))?$/.exec(rest)
    if (socket) return { target: { origin: `unix:${socket[1]}` }, scheme, authority: 'localhost', uri: socket[2] }
    const slash = rest.indexOf('/')
    const authority = slash < 0 ? rest : rest.slice(0, slash)
    const uri = slash < 0 ? undefined : rest.slice(slash)
    const block = this.#blocks.get(authority)
    const target = block ? this.#balanced(block, scheme) : { origin: `${scheme}://${authority}` }
    return target && { target, scheme, authority: authority.replace(scheme === 'http' ? /:80$/ : /:443$/, ''), uri }
  }

  #balanced(block: Directive, scheme: string): Target | undefined {
    const key = `${scheme} ${block.args[0]}`
    if (!this.#targets.has(key)) this.#targets.set(key, this.#read(block, scheme))
    return this.#targets.get(key)
  }

  #read({ args: [name = ''], block = [], place }: Directive, scheme: string): Target | undefined {
    const origins: OriginEntry[] = []
    let balance: string | undefined
    for (const directive of block) {
      if (directive.name === 'server') {
        const origin = this.#server(directive, scheme)
        if (origin) origins.push(origin)
      } else if (directive.name === 'least_conn') balance = 'least_requests'
      else if (directive.name === 'ip_hash') balance = 'client_address'
      else if (directive.name === 'hash') balance = this.#hash(directive)
      else if (!TUNING.has(directive.name))
        this.#report.add(directive.place, directive.name, 'edged has no such option of a group of origins')
    }
    if (origins.length === 0) {
      this.#report.add(place, `upstream ${name}`, 'it has no server that edged can use')
      return undefined
    }
    const [only] = origins
    if (origins.length === 1 && only!.connections === undefined) return { origin: only!.url }
    return { origins, ...(balance !== undefined && { balance }) }
  }

  #hash({ args: [key = ''], place }: Directive): string | undefined {
    const [, kind, name = ''] = /^\$\{?(http|cookie)_(\w+)\}?$/.exec(key) ?? []
    if (kind === 'http') return `header:${name.replaceAll('_', '-')}`
    if (kind === 'cookie') return `cookie:${name}`
    if (/^\$\{?(binary_)?remote_addr\}?$/.test(key)) return 'client_address'
    this.#report.add(
      place,
      `hash ${key}`,
      'edged chooses by client_address, header:NAME or cookie:NAME; requests go round instead',
    )
    return undefined
  }

  #server({ args: [address = '', ...options], place }: Directive, scheme: string): OriginEntry | undefined {
    if (options.includes('down')) return undefined
    const url = address.startsWith('unix:') ? address : `${scheme}://${address}`
    const number = (name: string) => {
      const found = options.find((option) => option.startsWith(`${name}=`))
      return found === undefined ? undefined : Number(found.slice(name.length + 1))
    }
    const [weight, connections] = [number('weight'), number('max_conns')]
    for (const option of options)
      if (!/^(weight=\d+|max_conns=\d+|backup|resolve)$/.test(option))
        this.#report.add(
          place,
          `server ${address} ${option}`,
          'edged takes an origin out of use after three failures in a row, for 10 s and more',
        )
    return {
      url,
      ...(weight !== undefined && weight > 1 && { weight }),
      ...(options.includes('backup') && { backup: true }),
      ...(connections !== undefined && connections > 0 && { connections }),
    }
  }
}
