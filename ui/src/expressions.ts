/** A field or function of the rules language. */
export interface Named {
  readonly name: string
  readonly type: string
  readonly kind: 'field' | 'function'
  readonly description: string
}

/** The outcome of a check. The column counts bytes. */
export interface Checked {
  readonly valid: boolean
  readonly error: {
    readonly reason: string
    readonly line: number
    readonly column: number
    readonly length: number
  } | null
  readonly hints: readonly string[]
}
