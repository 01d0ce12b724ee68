/**
 * Type of the values of a field. `timestamp` follows `timestamp_format`. The others keep their JSON form. `any` is not
 * declared.
 */
export type FieldType =
  | 'any'
  | 'string'
  | 'int'
  | 'float'
  | 'bool'
  | 'timestamp'
  | 'object'
  | 'array[string]'
  | 'array[int]'
  | 'array[object]'

/** A condition on a record, as in the `filter` of a job. */
export type FilterNode =
  | { readonly and: readonly FilterNode[] }
  | { readonly or: readonly FilterNode[] }
  | { readonly key: string; readonly operator: string; readonly value: unknown }

/** Properties that a dataset's own file declares. */
export interface DatasetInfo {
  readonly name: string
  /** Owners that its jobs can have. The first is the usual one. */
  readonly scopes: readonly ('account' | 'zone')[]
  /** Field with the time of the event. */
  readonly clock: string
  /** Names and types of the fields, in the order in which records are kept. */
  readonly fields: Readonly<Record<string, FieldType>>
  /** The fields of a job without `field_names`. Default is all fields that are not deprecated. */
  readonly defaults?: readonly string[]
  readonly deprecated?: readonly string[]
  /** Fields that a filter cannot name, besides objects and lists of objects. */
  readonly unfilterable?: readonly string[]
  /** Filter for attack traffic. Without it `filter_attack_traffic` is rejected. */
  readonly attack?: FilterNode
}

/** A type of log records, with its fields and the index of each in a scanned record. */
export interface Dataset extends DatasetInfo {
  readonly names: readonly string[]
  readonly types: readonly FieldType[]
  /** Index of each field in `names`, `types` and the offset table of a scanned record. */
  readonly places: ReadonlyMap<string, number>
  readonly defaults: readonly string[]
}

/** Completes the declaration of a dataset. */
export function dataset(info: DatasetInfo): Dataset {
  const names = Object.keys(info.fields)
  return {
    ...info,
    names,
    types: Object.values(info.fields),
    places: new Map(names.map((name, place) => [name, place])),
    defaults: info.defaults ?? names.filter((name) => !info.deprecated?.includes(name)),
  }
}
