import { Type } from 'typebox'
import { strict } from '../core/schema.js'
import { Size } from './units.js'
import { Count } from './values.js'

/** The section `history`. */
export const History = Type.Object(
  {
    days: Type.Integer({
      minimum: 0,
      maximum: 400,
      default: 30,
      description:
        'Days for which the counts of each hour are kept; counts of whole days are kept for 400. 0: nothing is counted.',
    }),
    bytes: Size(
      '512MB',
      'Maximum size of the counts on disk; beyond it the oldest of the shortest periods are deleted first.',
    ),
    requests: Count(100_000, 'Last requests of each zone that are kept on disk, at least 10000. 0: none.'),
    queries: Type.Boolean({
      default: false,
      description: 'Keep the query strings of these requests, which may contain what is private.',
    }),
    anonymise: Type.Boolean({
      default: false,
      description: 'Keep only the first 24 bits of the IPv4 addresses of clients, and the first 48 of IPv6 addresses.',
    }),
  },
  {
    ...strict,
    default: {},
    description:
      'Counts of requests and the last requests, which the dashboard and the API show; they survive restarts. false: neither is kept.',
    'x-off': { days: 0, requests: 0 },
  },
)
