import { Type } from 'typebox'
import { mapOf } from '../../src/core/schema.js'
import { DATASETS, type Dataset, type FieldType } from '../../pipelines/records/index.js'
import { area } from '../http/area.js'
import { ApiError } from '../http/errors.js'
import { whole } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import type { JobRepository } from './job-repository.js'
import { JobResult } from './schemas.js'

const PATH = '/logpush/datasets/:dataset_id'
const Fields = mapOf(Type.String(), { description: 'What the values of each field are, by its name.' })

const rows = area<JobRepository>({ scopes: ['account', 'zone'], access: ACCESS.logpush })

/** Returns some of the fields of a dataset. */
const fields = (path: string, summary: string, namesOf: (dataset: Dataset) => readonly string[]) =>
  rows.get(`${PATH}/${path}`, {
    summary,
    result: Fields,
    handle(_, { params }) {
      const dataset = known(params.dataset_id)
      return described(dataset, namesOf(dataset))
    },
  })

/** The datasets: their fields, and the jobs that push them. */
export const datasets = rows.endpoints([
  fields('fields', 'List the fields of a dataset', ({ names }) => names),
  fields('fields/default', 'List the fields that a job without field_names pushes', ({ defaults }) => defaults),
  rows.get(`${PATH}/jobs`, {
    summary: 'List the log push jobs of a dataset',
    result: Type.Array(JobResult),
    handle(repository, call) {
      const { name } = known(call.params.dataset_id)
      const found = repository.list(call.scope).filter(({ dataset }) => dataset === name)
      return whole(found.map((job) => repository.toResponse(call, job)))
    },
  }),
])

/** The dataset of a path. Throws `datasetNotFound`. */
export function known(name: string): Dataset {
  const dataset = DATASETS.get(name)
  if (!dataset) throw new ApiError('datasetNotFound', undefined, `unknown dataset ${name.slice(0, 256)}`)
  return dataset
}

const TYPE_TEXTS: Partial<Readonly<Record<FieldType, string>>> = { timestamp: 'int or string' }

function described({ fields, deprecated }: Dataset, names: readonly string[]): Record<string, string> {
  const entries = names.map((name) => {
    const type = fields[name]!
    return [name, `${TYPE_TEXTS[type] ?? type}${deprecated?.includes(name) ? '; deprecated' : ''}`]
  })
  return Object.fromEntries(entries) as Record<string, string>
}
