/** What the values of a field are. `timestamp` follows `timestamp_format`; the others keep their JSON form. `any`: not declared. */
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

/** What a dataset's own file says about it. */
export interface DatasetInfo {
  readonly name: string
  /** What its jobs can belong to; the first is the usual one. */
  readonly scopes: readonly ('account' | 'zone')[]
  /** The field that tells when the event was. */
  readonly clock: string
  /** Names and types of the fields, in the order in which records are kept. */
  readonly fields: Readonly<Record<string, FieldType>>
  /** The fields that a job without `field_names` gets; all that are not deprecated unless said. */
  readonly defaults?: readonly string[]
  readonly deprecated?: readonly string[]
  /** Fields that a filter cannot name, besides objects and lists of objects. */
  readonly unfilterable?: readonly string[]
  /** Marks attack traffic; without it `filter_attack_traffic` is refused. */
  readonly attack?: FilterNode
}

/** A type of log records: its fields, and the place of each in a scanned record. */
export interface Dataset extends DatasetInfo {
  readonly names: readonly string[]
  readonly types: readonly FieldType[]
  /** The place of each field in `names`, `types` and the offset table of a scanned record. */
  readonly places: ReadonlyMap<string, number>
  readonly defaults: readonly string[]
}

/** Completes what a dataset's file says. */
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
