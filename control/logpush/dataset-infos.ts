import { Type } from 'typebox'
import { DATASETS, OPERATORS, type Dataset } from '../../pipelines/records/index.js'
import { ACCESS } from '../http/permissions.js'
import { area } from '../http/area.js'
import { whole } from '../http/paging.js'
import { known } from './datasets.js'

const Info = Type.Object({
  name: Type.String(),
  merges: Type.Boolean({ description: 'Whether `output_options.merge_subrequests` is possible.' }),
  fields: Type.Array(
    Type.Object({
      name: Type.String(),
      type: Type.String(),
      default: Type.Boolean({ description: 'Whether jobs without `field_names` push it.' }),
      deprecated: Type.Boolean(),
      operators: Type.Array(Type.String(), {
        description: 'Operators of a `filter`; none if it cannot name the field.',
      }),
    }),
  ),
})

const rows = area({ scopes: ['account', 'zone'], access: ACCESS.logpush }, () => ({}))

/** The facts about datasets that a form for a new job needs. */
export const datasetInfos = rows.endpoints([
  rows.get('/edged/datasets', {
    summary: 'List the names of the datasets of an account or zone',
    result: Type.Array(Type.String()),
    handle: (_, { scope: { type } }) =>
      whole([...DATASETS.values()].filter(({ scopes: of }) => of.some((one) => one === type)).map(({ name }) => name)),
  }),
  rows.get('/edged/datasets/:dataset_id', {
    summary: 'Get the fields of a dataset with their types and operators of filters',
    result: Info,
    handle: (_, { params }) => described(known(params.dataset_id)),
  }),
])

function described({ name, fields, places, defaults, deprecated = [], unfilterable = [] }: Dataset) {
  return {
    name,
    merges: places.has('Subrequests'),
    fields: Object.entries(fields).map(([field, type]) => ({
      name: field,
      type,
      default: defaults.includes(field),
      deprecated: deprecated.includes(field),
      operators: unfilterable.includes(field) ? [] : [...OPERATORS[type]],
    })),
  }
}
