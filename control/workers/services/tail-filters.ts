/** One condition on the calls that a tail reports; all conditions of a tail must hold. */
export interface TailFilter {
  readonly sampling_rate?: number
  readonly outcome?: readonly string[]
  readonly method?: readonly string[]
  /** Addresses of clients. `self` is the address of the client that opened the tail. */
  readonly client_ip?: readonly string[]
  /** A text in the logs of the call. */
  readonly query?: string | null
  /** A request field that must be present, and a part of its value. */
  readonly header?: { readonly key: string; readonly query?: string }
  /** Id of a version. */
  readonly scriptVersion?: string
}

interface Call {
  readonly outcome?: unknown
  readonly logs?: unknown
  readonly scriptVersion?: { readonly id?: string }
  readonly event?: {
    readonly request?: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> }
  }
}

/** Returns whether a tail reports a call. `self` is the address of the client that opened the tail. */
export function reports(
  filters: readonly TailFilter[],
  event: object,
  { self, random = Math.random }: { readonly self: string; readonly random?: () => number },
): boolean {
  const call = event as Call
  const request = call.event?.request
  const fields = request?.headers ?? {}
  return filters.every((filter) => {
    const { sampling_rate: rate, outcome, method, client_ip: addresses, query, header, scriptVersion } = filter
    if (rate !== undefined && random() >= rate) return false
    if (outcome && !outcome.includes(String(call.outcome))) return false
    if (method && !method.some((one) => one.toUpperCase() === request?.method?.toUpperCase())) return false
    if (addresses && !addresses.some((one) => (one === 'self' ? self : one) === fields['cf-connecting-ip']))
      return false
    if (query && !JSON.stringify(call.logs ?? []).includes(JSON.stringify(query).slice(1, -1))) return false
    if (scriptVersion !== undefined && call.scriptVersion?.id !== scriptVersion) return false
    const value = header && fields[header.key.toLowerCase()]
    return !header || (value !== undefined && value.includes(header.query ?? ''))
  })
}
