import { ENTRY_POINTS, RULESETS } from '../../core/model/ruleset.js'
import { ERROR_ASSETS, ERROR_PAGES } from '../../core/model/error-page.js'
import { FALLBACK_ORIGIN, HOSTNAME } from '../../core/model/hostname.js'
import { LIST_ITEMS, LISTS } from '../../core/model/list.js'
import { MANAGED_TRANSFORMS, URL_NORMALIZATION } from '../../core/model/transforms.js'
import { ZONE_STATES, ZONES } from '../../core/model/zone.js'
import { PURGE } from '../../core/model/purge.js'
import { SETTING } from '../../core/model/setting.js'
import { WORKER_DEPLOYMENTS, WORKER_SCRIPTS, WORKER_VERSIONS } from '../../core/model/worker.js'
import {
  ACCOUNT_SUBDOMAIN,
  SCRIPT_SUBDOMAINS,
  SUBDOMAIN_OWNERS,
  WORKER_DOMAINS,
  WORKER_ROUTES,
} from '../../core/model/worker-routing.js'
import type { Log } from '../../core/log.js'
import type { Scope } from '../../core/scope.js'
import type { Change, Kind, Stored, StoreReader } from '../../core/store.js'
import { ACME_CHALLENGES, MANAGED_CERTIFICATES } from '../../tls/acme/records.js'
import { MemoryIndex } from '../../store/records/memory-index.js'
import { named, recordName, Row } from '../../store/records/record.js'
import type { RecordRow } from './protocol.js'

/** The kinds of records that proxy processes read. Every other record stays in the daemon. */
const REPLICATED: readonly Kind<unknown>[] = [
  HOSTNAME,
  FALLBACK_ORIGIN,
  MANAGED_CERTIFICATES,
  ACME_CHALLENGES,
  PURGE,
  SETTING,
  ZONES,
  ZONE_STATES,
  MANAGED_TRANSFORMS,
  URL_NORMALIZATION,
  RULESETS,
  ENTRY_POINTS,
  ERROR_ASSETS,
  ERROR_PAGES,
  LISTS,
  LIST_ITEMS,
  WORKER_DOMAINS,
  WORKER_ROUTES,
  ACCOUNT_SUBDOMAIN,
  SCRIPT_SUBDOMAINS,
  SUBDOMAIN_OWNERS,
  WORKER_SCRIPTS,
  WORKER_DEPLOYMENTS,
  WORKER_VERSIONS,
]

const NAMES: ReadonlySet<string> = new Set(REPLICATED.map(({ name }) => name))

const CHUNK_ROWS = 1000

const rowOf = ({ kind, scope, id, version, value }: Stored<unknown>): RecordRow => [
  recordName(kind, scope, id),
  version,
  value === undefined ? undefined : JSON.stringify(value),
]

/** Returns the rows of changes that proxy processes need. */
export const replicatedRows = (changes: readonly Change[]): RecordRow[] =>
  changes.filter(({ kind }) => NAMES.has(kind)).map(rowOf)

/** Returns the current records in parts. Later changes of the store do not affect them. */
export function snapshotOf(store: StoreReader): Iterable<readonly RecordRow[]> {
  const lists = REPLICATED.map((kind) => store.list(kind))
  return chunks(lists)
}

function* chunks(lists: readonly (readonly Stored<unknown>[])[]): Generator<readonly RecordRow[]> {
  for (const list of lists)
    for (let at = 0; at < list.length; at += CHUNK_ROWS) yield list.slice(at, at + CHUNK_ROWS).map(rowOf)
}

/** A copy of the daemon's records in a proxy process. */
export class Replica implements StoreReader {
  readonly #index: MemoryIndex

  constructor(log: Log) {
    this.#index = new MemoryIndex(log)
  }

  load(rows: readonly RecordRow[]): void {
    for (const [name, version, json] of rows) this.#index.load(new Row(named(name), version, json!))
  }

  apply(rows: readonly RecordRow[]): void {
    this.#index.apply(
      rows.map(([name, version, json]) => {
        const at = named(name)
        return { name, at, row: json === undefined ? undefined : new Row(at, version, json) }
      }),
    )
  }

  get<T>(kind: Kind<T>, scope: Scope, id: string): Stored<T> | undefined {
    return this.#index.get(checked(kind), scope, id)
  }

  list<T>(kind: Kind<T>, scope?: Scope): readonly Stored<T>[] {
    return this.#index.list(checked(kind), scope)
  }

  watch(listener: (changes: readonly Change[]) => void): () => void {
    return this.#index.watch(listener)
  }
}

/** A missing kind would look like an empty one. */
function checked<T>(kind: Kind<T>): Kind<T> {
  if (!NAMES.has(kind.name)) throw new Error(`proxy processes have no records of kind ${kind.name}`)
  return kind
}
