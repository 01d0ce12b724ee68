import { dataset } from '../fields/dataset.js'

/** Receipts of pages that agents agreed to pay for. A dataset of edged itself. */
export const crawlCharges = dataset({
  name: 'edged_crawl_charges',
  scopes: ['zone'],
  clock: 'time',
  fields: {
    agent: 'string',
    currency: 'string',
    directory: 'string',
    host: 'string',
    id: 'string',
    keyid: 'string',
    path: 'string',
    price: 'string',
    ray: 'string',
    status: 'int',
    time: 'timestamp',
    zone: 'string',
  },
})
