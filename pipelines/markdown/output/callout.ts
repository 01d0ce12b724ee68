/** A callout whose title is not decided. */
export interface Callout {
  /** The kind, in upper case. */
  readonly kind: string
  /** Sets the line that begins the callout, as long as nothing of the callout is written. */
  setHead(head: string): void
  /** Whether nothing of the callout is written. */
  readonly isEmpty: boolean
}
