/** Runs work for many callers. Each gets the result of a run that began after its call. Waiting callers share a run. */
export class SharedRun {
  readonly #work: () => Promise<void>
  #current: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  async run(): Promise<void> {
    if (!this.#current) return await this.#start()
    // The current run may have read its data before this call.
    const start = async () => await this.#start()
    await (this.#next ??= this.#current.then(start, start))
  }

  async #start(): Promise<void> {
    this.#next = undefined
    const mine = this.#work()
    this.#current = mine
    try {
      await mine
    } finally {
      if (this.#current === mine) this.#current = undefined
    }
  }
}
