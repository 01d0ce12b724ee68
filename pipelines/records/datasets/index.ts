import { tableOf } from '../../../src/core/extension/tables.js'
import { ANY, WHOLE } from '../fields/any.js'
import type { Dataset } from '../fields/dataset.js'
import { pluginDataset } from '../fields/plugin-dataset.js'
import { ACCOUNT_DATASETS } from './accounts.js'
import { crawlCharges } from './crawl-charges.js'
import { DEVICE_DATASETS } from './devices.js'
import { EMAIL_DATASETS } from './email.js'
import { firewallEvents } from './firewall-events.js'
import { GATEWAY_DATASETS } from './gateway.js'
import { httpRequests } from './http-requests.js'
import { networkAnalyticsLogs } from './network-analytics-logs.js'
import { NETWORK_DATASETS } from './networks.js'
import { SITE_DATASETS } from './sites.js'
import { workersAnalyticsEngine } from './workers-analytics-engine.js'
import { workersTraceEvents } from './workers-trace-events.js'

/** Returns the stored form of a dataset, which is its fields, or the whole record for records of any shape. */
export const storedDataset = (name: string): Dataset | undefined => (name === ANY ? WHOLE : DATASETS.get(name))

const OWN: readonly Dataset[] = [
  ...ACCOUNT_DATASETS,
  ...DEVICE_DATASETS,
  ...EMAIL_DATASETS,
  ...GATEWAY_DATASETS,
  ...NETWORK_DATASETS,
  ...SITE_DATASETS,
  crawlCharges,
  firewallEvents,
  httpRequests,
  networkAnalyticsLogs,
  workersAnalyticsEngine,
  workersTraceEvents,
]

/** Every dataset that a job can push, by name. */
export const DATASETS: ReadonlyMap<string, Dataset> = new Map(
  tableOf('dataset', { own: OWN, key: ({ name }) => name, complete: pluginDataset })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((each) => [each.name, each]),
)
