import { Type } from 'typebox'
import { choice } from '../contract/params.js'

/** The parameter of destinations that write a file or object for each batch. */
export const FORMAT = Type.Optional(
  choice('parquet: each batch is a Parquet file. Default: text, as output_options say.', ['parquet']),
)
export type ObjectFormat = 'parquet' | undefined
