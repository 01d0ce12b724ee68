import { VersionConflict } from '../src/core/store.js'

const MOST_TRIES = 5

/** Does a read and a write that belong together, again when somebody else wrote in between. */
export async function again<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof VersionConflict) || tries === MOST_TRIES) throw error
    }
  }
}
