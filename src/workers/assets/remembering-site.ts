import { AssetSite, type AssetDecision, type AssetRequest, type KnownHead } from './site.js'

/** Maximum number of paths whose files are remembered. The next one replaces all others. */
const MAX_PATHS = 1000
/** Longer paths are not remembered. */
const MAX_PATH = 1024

type FileDecision = Extract<AssetDecision, { kind: 'file' }>

/** Static assets that never change. Which file is the response is decided once for each path. */
export class RememberingSite extends AssetSite {
  readonly #files = new Map<string, FileDecision>()
  /** The same for requests that open a page. */
  readonly #pages = new Map<string, FileDecision>()

  override decide(request: AssetRequest): AssetDecision {
    const { method, target, navigates } = request
    if (method !== 'GET' && method !== 'HEAD') return super.decide(request)
    const query = target.indexOf('?')
    const path = query < 0 ? target : target.slice(0, query)
    const known = navigates ? this.#pages : this.#files
    const before = known.get(path)
    if (before) return before
    const decision = super.decide(request)
    // No query decides which file is the response.
    if (decision.kind !== 'file' || path.length > MAX_PATH) return decision
    const { file, status } = decision
    const kept = { kind: decision.kind, file, status, path: unshared(decision.path), head: newHead() }
    if (known.size >= MAX_PATHS) known.clear()
    known.set(unshared(path), kept)
    return kept
  }
}

const newHead = (): KnownHead => ({ host: '', fields: undefined })

/** Copies a text: a part of the head of a request would keep the whole head in memory. */
const unshared = (text: string): string => Buffer.from(text).toString()
