import type { Redaction } from './redact.js'
import type { ScannedRecord } from './fields/scan.js'

/** Returns facts about an address by name, such as `country`. Undefined if nothing is known. */
export type Locate = (address: string) => Readonly<Record<string, string | number | undefined>> | undefined

/** Changes that a pipeline makes. */
export interface Reshape {
  /** JSON texts by the names of fields. */
  readonly set?: Readonly<Record<string, string>> | undefined
  readonly rename?: Readonly<Record<string, string>> | undefined
  readonly drop?: readonly string[] | undefined
  readonly redact?: Readonly<Record<string, Redaction>> | undefined
  readonly geo?:
    { readonly field: string; readonly set: Readonly<Record<string, string>>; readonly locate: Locate } | undefined
  readonly lookup?:
    readonly { readonly field: string; readonly set: string; readonly has: (value: string) => boolean }[] | undefined
}

/** A field that is added to a record. */
export interface AddedMember {
  readonly name: string
  /** Places of the fields that it depends on. */
  readonly reads: readonly number[]
  /** Returns its JSON text. Undefined if the record does not get it. */
  value(record: ScannedRecord): Uint8Array | undefined
}
