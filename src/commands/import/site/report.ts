/** A place in a file that is imported. */
export interface Place {
  readonly file: string
  readonly line: number
}

/** Parts of the original that the configuration does not carry over, in the order of their places. */
export class Report {
  readonly #entries: { readonly place: Place | undefined; readonly text: string }[] = []
  readonly #seen = new Set<string>()

  /** Adds a part with the reason. The same part counts once. */
  add(place: Place, part: string, reason: string): void {
    const text = `${place.file}:${place.line}: ${part}: ${reason}`
    if (this.#seen.has(text)) return
    this.#seen.add(text)
    this.#entries.push({ place, text })
  }

  /** Adds a resource that has no place in a file. */
  resource(name: string, reason: string): void {
    this.#entries.push({ place: undefined, text: `${name}: ${reason}` })
  }

  /** One line for each part. */
  get lines(): string[] {
    return this.#entries
      .toSorted((a, b) =>
        a.place === undefined || b.place === undefined || a.place.file !== b.place.file
          ? 0
          : a.place.line - b.place.line,
      )
      .map(({ text }) => text)
  }
}
