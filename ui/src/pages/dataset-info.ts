/** A dataset as the API describes it. */
export interface DatasetInfo {
  readonly name: string
  readonly merges: boolean
  readonly fields: readonly DatasetField[]
}
export interface DatasetField {
  readonly name: string
  readonly type: string
  readonly default: boolean
  readonly deprecated: boolean
  readonly operators: readonly string[]
}
