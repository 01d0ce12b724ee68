/** The process of scripts without data. An upload never pauses this process. */
export const STATELESS = 'm'
/** The process of the D1 databases of an account. */
export const DATABASES = 'd'
/** Processes of scripts that own Durable Objects. More such scripts of an account share them. */
const MAX_OWNERS = 16

/** Decides which process of an account runs a script. A script stays in its process. */
export class Placement {
  /** Processes of scripts that own Durable Objects. */
  readonly #owners = new Map<string, string>()
  /** Names in place of processes for scripts that another machine runs. */
  readonly #elsewhere = new Map<string, string>()

  /** Returns the name in place of a process for a script that another machine runs. */
  elsewhere(script: string): string {
    const known = this.#elsewhere.get(script)
    if (known !== undefined) return known
    const name = `x${this.#elsewhere.size}`
    this.#elsewhere.set(script, name)
    return name
  }

  /** Returns the process of each script. `owners` are scripts with classes of Durable Objects. */
  place(scripts: readonly string[], owners: ReadonlySet<string>): ReadonlyMap<string, string> {
    for (const name of this.#owners.keys()) if (!owners.has(name)) this.#owners.delete(name)
    for (const name of owners) if (!this.#owners.has(name)) this.#owners.set(name, this.#emptiest())
    return new Map(scripts.map((name) => [name, this.#owners.get(name) ?? STATELESS]))
  }

  #emptiest(): string {
    const counts = Array.from({ length: MAX_OWNERS }, () => 0)
    for (const shard of this.#owners.values()) counts[Number(shard.slice(1))]! += 1
    return `o${counts.indexOf(Math.min(...counts))}`
  }
}
