import type { SchemaElement } from 'hyparquet-writer'
import type { FieldType } from '../../records/fields/dataset.js'

/** Type of the values of a column. */
export type ColumnType = Exclude<FieldType, 'any' | 'timestamp' | 'array[object]'> | 'micros' | 'nanos'

/** A column of a Parquet file. */
export interface Column {
  readonly name: string
  readonly type: ColumnType
}

const TIME = { type: 'TIMESTAMP', isAdjustedToUTC: true } as const

const ELEMENTS: Readonly<Record<Exclude<ColumnType, `array${string}`>, Omit<SchemaElement, 'name'>>> = {
  string: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  int: { type: 'INT64' },
  float: { type: 'DOUBLE' },
  bool: { type: 'BOOLEAN' },
  micros: { type: 'INT64', converted_type: 'TIMESTAMP_MICROS', logical_type: { ...TIME, unit: 'MICROS' } },
  nanos: { type: 'INT64', logical_type: { ...TIME, unit: 'NANOS' } },
  // JSON text as it is, with all digits of its numbers. Not annotated as JSON, because the library would parse it.
  object: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
}

/** Returns the schema of a file. All columns may have nulls. Lists have three levels, as the specification asks. */
export function schemaOf(columns: readonly Column[]): SchemaElement[] {
  return [
    { name: 'root', num_children: columns.length },
    ...columns.flatMap(({ name, type }): SchemaElement[] => {
      if (type !== 'array[string]' && type !== 'array[int]')
        return [{ name, repetition_type: 'OPTIONAL', ...ELEMENTS[type] }]
      return [
        { name, repetition_type: 'OPTIONAL', converted_type: 'LIST', logical_type: { type: 'LIST' }, num_children: 1 },
        { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
        { name: 'element', repetition_type: 'OPTIONAL', ...ELEMENTS[type === 'array[int]' ? 'int' : 'string'] },
      ]
    }),
  ]
}
