import { InvalidInput, type Issue } from '../../../src/core/errors.js'
import {
  anyDataset,
  attackTest,
  compileFilter,
  compileReshape,
  Dedupe,
  fieldIssue,
  namedFields,
  reshapedFields,
  scannerOf,
  storedDataset,
  WHOLE,
  type FieldType,
  type RecordScanner,
  type Reshape,
  type Shape,
  Format,
  parseLogpullOptions,
  parseOutputOptions,
  sampler,
  type Dataset,
  type Filter,
  type FilterLimits,
  type OutputOptions,
  type Sampler,
  type ScannedRecord,
} from '../../records/index.js'
import type { Column } from '../parquet/columns.js'
import type { TransformModule } from '../../../src/core/extension/record-transform.js'
import type { UploadLimits } from './limits.js'
import { columnsOf, textOfParquet } from './parquet-job.js'

/** Settings of a job for its records, with members as in the API, where null means absent. */
export interface JobSettings extends UploadLimits {
  readonly dataset: string
  /** JSON text, or its parsed value. */
  readonly filter?: unknown
  readonly filter_attack_traffic?: boolean | null | undefined
  readonly output_options?: unknown
  readonly logpull_options?: string | null | undefined
  /** Types of fields of records of any shape. */
  readonly schema?: Readonly<Record<string, FieldType>> | undefined
  /** A field that the destination needs besides the output fields. */
  readonly key_field?: string | undefined
  /** Module that changes records after the filter. */
  readonly transform?: TransformModule | undefined
  /** Changes of the records between filter and format. */
  readonly reshape?: Reshape | undefined
  /** Batches are Parquet files: fields and types of `output_options` count, its texts do not. */
  readonly parquet?: boolean | undefined
  /** Leaves out records with a value that a record before them had. */
  readonly dedupe?: { readonly field: string; readonly window: number; readonly entries: number } | undefined
}

/** A compiled job, which decides about each record and formats it. It has no state. */
export interface CompiledJob {
  readonly dataset: Dataset
  /** Layout of its records in the spool. */
  readonly stored: Dataset
  /** Creates a scanner for the lines of records, if the job reads other fields than the stored ones. */
  readonly view: (() => RecordScanner) | undefined
  /** The filter of the job, attack traffic included. */
  readonly keeps: (record: ScannedRecord) => boolean
  /** Indexes of the fields that `keeps` reads, ascending. */
  readonly looks: Int16Array
  /** Indexes of the fields that the format writes, ascending. */
  readonly writes: Int16Array
  /** Selects a sample of the records that the filter keeps, by position. */
  readonly samples: Sampler
  /** Creates the filter for repeated records. Undefined if repeated records are delivered. */
  readonly dedupe: (() => Dedupe) | undefined
  /** Records as `shape` and the format get them. With a transform they are records of any shape. */
  readonly arriving: Dataset
  /** Creates the stage that changes records before they are written. Undefined if records stay unchanged. */
  readonly shape: (() => Shape) | undefined
  readonly format: Format
  /**
   * Jobs with the same recipe write the same lines for the same records. Undefined if no other job can have the same
   * recipe.
   */
  readonly recipe: string | undefined
  /** Jobs with the same style format fields the same way. Undefined if no other job can have the same style. */
  readonly style: string | undefined
  /** Columns of Parquet files. Undefined if batches are text. */
  readonly columns: readonly Column[] | undefined
  /** Set where subrequests become part of their parents. */
  readonly merge: OutputOptions | undefined
  readonly settings: JobSettings
}

/**
 * Compiles the settings of a job. Sampling depends on `seed`, for example the job id. Throws InvalidInput that lists
 * all issues with pointers into the job, such as `/output_options/field_names/3` and `/filter/where/key`.
 */
export function compileJob(given: JobSettings, seed: string, limits: FilterLimits = {}): CompiledJob {
  const stored = storedDataset(given.dataset)
  if (stored === undefined) throw new InvalidInput([{ pointer: '/dataset', message: 'is not a dataset' }])
  const isAny = stored === WHOLE
  const settings = given.parquet === true ? textOfParquet(given, stored) : given
  const { reshape, dedupe, schema, transform } = settings
  // After a reshape records of any shape are scanned again for the fields that are written.
  const isChanged = reshape !== undefined || transform !== undefined
  const named = namedFields(isChanged ? { filter: settings.filter } : settings)
  const reshapeNames = reshape === undefined ? [] : reshapedFields(reshape)
  const needed = [...(transform === undefined ? reshapeNames : []), ...(dedupe === undefined ? [] : [dedupe.field])]
  const dataset = isAny ? anyDataset([...named, ...needed], schema) : stored
  const issues: Issue[] = []
  const at = <T>(pointer: string, work: () => T): T | undefined => {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error
      issues.push(...error.issues.map((issue) => ({ ...issue, pointer: pointer + issue.pointer })))
      return undefined
    }
  }
  const filter = at('/filter', () => compileFilter(dataset, settings.filter ?? '', limits))
  const attack = settings.filter_attack_traffic ? at('/filter_attack_traffic', () => attacksOf(dataset)) : undefined
  const outputOptions = settings.output_options ?? undefined
  const written = namedFields({ output_options: outputOptions })
  const types = transform === undefined || isAny ? schema : { ...stored.fields, ...schema }
  const arriving =
    transform === undefined
      ? dataset
      : anyDataset(reshape === undefined ? written : [...written, ...reshapeNames], types)
  const reshaped =
    reshape === undefined ? undefined : at('', () => compileReshape(arriving, reshape, { names: written, types }))
  const outgoing = reshaped?.outgoing ?? arriving
  const options =
    outputOptions === undefined
      ? at('/logpull_options', () => parseLogpullOptions(outgoing, settings.logpull_options ?? ''))
      : at('/output_options', () => parseOutputOptions(outgoing, outputOptions))
  const repeated = dedupe === undefined ? undefined : fieldIssue(dataset, dedupe.field)
  if (repeated !== undefined) issues.push({ pointer: '/dedupe/field', message: repeated })
  if (isChanged && options?.merge_subrequests)
    issues.push({ pointer: '/output_options/merge_subrequests', message: NOT_MERGED })
  if (issues.length > 0 || filter === undefined || options === undefined) throw new InvalidInput(issues)

  const format = new Format(outgoing, options)
  const columns = given.parquet === true ? columnsOf(format.names, outgoing, given) : undefined
  const place = dedupe && dataset.places.get(dedupe.field)
  return {
    dataset,
    stored,
    view: isAny ? () => scannerOf(dataset) : undefined,
    looks: ascending([...filter.places, ...(attack?.places ?? []), ...(place === undefined ? [] : [place])]),
    writes: ascending(reshaped?.reads(format.places) ?? format.places),
    dedupe:
      place === undefined ? undefined : () => new Dedupe({ place, windowMs: dedupe!.window, entries: dedupe!.entries }),
    arriving,
    shape: reshaped && (() => reshaped.open(format.places)),
    keeps: attack === undefined ? filter : (record) => !attack(record) && filter(record),
    samples: sampler(format.sampleRate, seed),
    format,
    recipe:
      isAny || format.sampleRate < 1 || format.mergeSubrequests || isChanged || dedupe !== undefined
        ? undefined
        : JSON.stringify([settings.dataset, settings.filter ?? '', settings.filter_attack_traffic ?? false, options]),
    style: isAny || isChanged ? undefined : format.style,
    columns,
    merge: format.mergeSubrequests ? options : undefined,
    settings: given,
  }
}

/** Returns a job whose batches are Parquet files. Throws InvalidInput if its fields have no types. */
export const asParquet = (job: CompiledJob, seed: string): CompiledJob =>
  job.columns === undefined ? compileJob({ ...job.settings, parquet: true }, seed) : job

const NOT_MERGED =
  'cannot be used with transform, set, rename, drop, redact, geo or lookup; subrequests would retain the original values'

const ascending = (places: Iterable<number>): Int16Array => Int16Array.from(new Set(places)).sort()

function attacksOf(dataset: Dataset): Filter {
  const test = attackTest(dataset)
  if (test === undefined)
    throw new InvalidInput([{ pointer: '', message: `is not possible for ${dataset.name}, which has no such mark` }])
  return test
}
