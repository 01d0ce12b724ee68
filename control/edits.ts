import { InTurn } from '../src/core/in-turn.js'
import { VersionConflict } from '../src/core/store.js'

const MOST_TRIES = 5

/**
 * Does reads and writes that belong together. Those that are about one name take turns on this machine; where another
 * machine wrote in between, the attempt is made again.
 */
export class Edits {
  readonly #turns = new InTurn()

  async run<T>(name: string, attempt: () => Promise<T>): Promise<T> {
    return await this.#turns.run(name, async () => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await attempt()
        } catch (error) {
          if (!(error instanceof VersionConflict) || tries === MOST_TRIES) throw error
        }
      }
    })
  }
}
