import { DAEMON } from '../../../../src/core/scope.js'
import { kind, type Store } from '../../../../src/core/store.js'
import type { Dataset } from '../../../records/index.js'

/** Names of the fields of frames, by the fingerprint in their header. The id is dataset and fingerprint. */
const LOGPUSH_LAYOUTS = kind<{ readonly names: readonly string[] }>('logpush_layout')

/** Finds the fields of frames that other versions of edged have written. */
export class Layouts {
  readonly #store: Store
  readonly #stored = new Set<string>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Resolves when every machine can read frames of this layout. */
  async store({ name, names }: Dataset, fingerprint: number): Promise<void> {
    const id = `${name}:${fingerprint}`
    if (this.#stored.has(id)) return
    if (this.#store.get(LOGPUSH_LAYOUTS, DAEMON, id) === undefined)
      await this.#store.batch([{ kind: LOGPUSH_LAYOUTS, scope: DAEMON, id, value: { names: [...names] } }])
    this.#stored.add(id)
  }

  names(dataset: string, fingerprint: number): readonly string[] | undefined {
    return this.#store.get(LOGPUSH_LAYOUTS, DAEMON, `${dataset}:${fingerprint}`)?.value.names
  }
}
