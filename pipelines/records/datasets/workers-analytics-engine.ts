import { dataset, type FieldType } from '../fields/dataset.js'

/** Blobs, and doubles, of one data point. */
const VALUES = 20

const numbered = (name: string, type: FieldType): Record<string, FieldType> =>
  Object.fromEntries(Array.from({ length: VALUES }, (_, at) => [`${name}${at + 1}`, type]))

/** Data points of `writeDataPoint`. The dataset is specific to this server. The public API has no such dataset. */
export const workersAnalyticsEngine = dataset({
  name: 'workers_analytics_engine',
  scopes: ['account'],
  clock: 'Timestamp',
  fields: {
    ...numbered('Blob', 'string'),
    Dataset: 'string',
    ...numbered('Double', 'float'),
    Index1: 'string',
    SampleInterval: 'int',
    ScriptName: 'string',
    Timestamp: 'timestamp',
  },
})
