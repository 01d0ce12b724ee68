import { InvalidInput, type Issue } from '../../src/core/errors.js'
import {
  anyDataset,
  attackTest,
  compileFilter,
  namedFields,
  scannerOf,
  storedDataset,
  WHOLE,
  type FieldType,
  type RecordScanner,
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
} from '../records/index.js'
import type { UploadLimits } from './limits.js'

/** What a job says about its records; members as in the API, in which null is as good as absent. */
export interface JobSettings extends UploadLimits {
  readonly dataset: string
  /** JSON text, or what it reads to. */
  readonly filter?: unknown
  readonly filter_attack_traffic?: boolean | null | undefined
  readonly output_options?: unknown
  readonly logpull_options?: string | null | undefined
  /** Types of fields of records of any shape. */
  readonly schema?: Readonly<Record<string, FieldType>> | undefined
  /** A field that the destination needs besides those of the output. */
  readonly key_field?: string | undefined
}

/** A job made ready: what it does with each record. Has no state. */
export interface CompiledJob {
  readonly dataset: Dataset
  /** What is stored of its records. */
  readonly stored: Dataset
  /** Returns a new scanner for the lines of records, if the job reads other fields than those that are stored. */
  readonly view: (() => RecordScanner) | undefined
  /** The filter of the job, attack traffic included. */
  readonly keeps: (record: ScannedRecord) => boolean
  /** Of the fields that `keeps` looks at; ascending. */
  readonly looks: Int16Array
  /** Of the fields that the format writes; ascending. */
  readonly writes: Int16Array
  /** Which of the records that the filter keeps stay, by their positions. */
  readonly samples: Sampler
  readonly format: Format
  /** Jobs with the same recipe make the same lines of the same records; undefined if no other job does. */
  readonly recipe: string | undefined
  /** Set where subrequests become part of their parents. */
  readonly merge: OutputOptions | undefined
  readonly settings: JobSettings
}

/**
 * Compiles what a job says. `seed` is what its sampling depends on, such as its id. Throws InvalidInput with pointers into
 * the job, such as `/output_options/field_names/3` and `/filter/where/key`, and all that is wrong in one go.
 */
export function compileJob(settings: JobSettings, seed: string, limits: FilterLimits = {}): CompiledJob {
  const stored = storedDataset(settings.dataset)
  if (stored === undefined) throw new InvalidInput([{ pointer: '/dataset', message: 'is not a dataset' }])
  const isAny = stored === WHOLE
  const dataset = isAny ? anyDataset(namedFields(settings), settings.schema) : stored
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
  const given = settings.output_options ?? undefined
  const options =
    given === undefined
      ? at('/logpull_options', () => parseLogpullOptions(dataset, settings.logpull_options ?? ''))
      : at('/output_options', () => parseOutputOptions(dataset, given))
  if (issues.length > 0 || filter === undefined || options === undefined) throw new InvalidInput(issues)

  const format = new Format(dataset, options)
  return {
    dataset,
    stored,
    view: isAny ? () => scannerOf(dataset) : undefined,
    looks: Int16Array.from(new Set([...filter.places, ...(attack?.places ?? [])])).sort(),
    writes: Int16Array.from(format.places).sort(),
    keeps: attack === undefined ? filter : (record) => !attack(record) && filter(record),
    samples: sampler(format.sampleRate, seed),
    format,
    recipe:
      isAny || format.sampleRate < 1 || format.mergeSubrequests
        ? undefined
        : JSON.stringify([settings.dataset, settings.filter ?? '', settings.filter_attack_traffic ?? false, options]),
    merge: format.mergeSubrequests ? options : undefined,
    settings,
  }
}

function attacksOf(dataset: Dataset): Filter {
  const test = attackTest(dataset)
  if (test === undefined)
    throw new InvalidInput([{ pointer: '', message: `is not possible for ${dataset.name}, which has no such mark` }])
  return test
}
