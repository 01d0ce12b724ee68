/**
 * Library for log records. It reads records of a dataset, filters them, and writes them in the format of
 * `output_options`. Nothing here does any input or output.
 *
 *     const dataset = DATASETS.get('http_requests')
 *     const scanner = new Scanner(dataset)
 *     const keeps = compileFilter(dataset, '{"where":{"key":"EdgeResponseStatus","operator":"geq","value":500}}')
 *     const batch = new BatchText(compileFormat(dataset, { output_type: 'csv', field_names: ['RayID', 'ClientIP'] }))
 *     for (const line of lines) {
 *       const record = scanner.scan(line)
 *       if (keeps(record)) batch.add(record)
 *     }
 *     const csv = batch.close()
 */
import type { Dataset } from './fields/dataset.js'
import { Format } from './format.js'
import { compileCondition, type Filter } from './filter.js'
import { parseLogpullOptions, parseOutputOptions } from './options.js'
import { parseTemplate, type TemplatePart } from './template.js'

export { ANY, anyDataset, MEMBERS, scannerOf, tokensOf, WHOLE, type RecordScanner } from './fields/any.js'
export { BatchText } from './batch-text.js'
export { Dedupe } from './dedupe.js'
export type { Dataset, DatasetInfo, FieldType, FilterNode } from './fields/dataset.js'
export { DATASETS, storedDataset } from './datasets/index.js'
export { compileFilter, OPERATORS, type Filter, type FilterLimits } from './filter.js'
export { Format } from './format.js'
export { readFilter } from './filter-text.js'
export { namedFields, type FieldUse } from './named-fields.js'
export { OutputOptions, parseLogpullOptions, parseOutputOptions } from './options.js'
export { MERGE_WINDOW_MS, MAX_MERGED, SubrequestMerger } from './merge.js'
export { copied, Output, type ReserveBytes, type Use } from './output.js'
export { recordCheck, UnfitRecord } from './record-check.js'
export { RowCopier, Rows } from './rows.js'
export { sampler, type Sampler } from './sample.js'
export type { Redaction } from './redact.js'
export { fieldIssue } from './field-issue.js'
export { compileReshape, reshapedFields, type Shape } from './reshape.js'
export type { Locate, Reshape } from './reshape-types.js'
export { MalformedRecord, Scanner, type ScannedRecord } from './fields/scan.js'
export { parseTemplate, TemplateError, type TemplatePart } from './template.js'
export { readInstant, TIMESTAMP_FORMATS, writeInstant, type Instant, type TimestampFormat } from './timestamps.js'

/** Compiles `output_options`. Throws InvalidInput with pointers into them, such as `/field_names/3`. */
export function compileFormat(dataset: Dataset, options: unknown = {}): Format {
  return new Format(dataset, parseOutputOptions(dataset, options))
}

/** Compiles the deprecated `logpull_options`. Throws InvalidInput with an empty pointer. */
export function compileLogpullFormat(dataset: Dataset, options: string): Format {
  return new Format(dataset, parseLogpullOptions(dataset, options))
}

/**
 * Compiles a `record_template` to a function from the formatted texts of fields to the text of a record. A field
 * without a text is null. Throws a TemplateError.
 */
export function compileTemplate(template: string): (fields: ReadonlyMap<string, string>) => string {
  const parts = parseTemplate(template)
  return (fields) => Buffer.concat(parts.map((part) => partText(part, fields))).toString()
}

const partText = (part: TemplatePart, fields: ReadonlyMap<string, string>) =>
  part instanceof Uint8Array ? part : Buffer.from(fields.get(part.field) ?? 'null')

/** Returns the filter for attack traffic, for `filter_attack_traffic`. Undefined for datasets without one. */
export function attackTest(dataset: Dataset): Filter | undefined {
  return dataset.attack === undefined ? undefined : compileCondition(dataset, dataset.attack)
}
