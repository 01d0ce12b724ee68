/** State of a log push cursor in format 1. The first batch in upload was separate from the batches behind it. */
interface OpenBatchState {
  readonly next: number
  readonly keep?: number
  readonly notes?: unknown
  readonly open?: { readonly first: number; readonly end: number; readonly name: string; readonly notes?: unknown }
  readonly also?: readonly unknown[]
}

/** Converts the state of a cursor from format 1 to format 2, which has one list of all batches. Does not change others. */
export function withBatches(state: object): object {
  if (!('open' in state) && !('also' in state)) return state
  const { open, also = [], ...rest } = state as OpenBatchState
  const { next, keep = next } = rest
  const first = open && [open.end, open.name, ...(open.notes === undefined ? [] : [open.notes])]
  return {
    ...rest,
    ...(open && open.first < Math.min(next, keep) && { keep: open.first }),
    batches: [...(first ? [first] : []), ...also],
  }
}
