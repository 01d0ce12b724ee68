import type { HistoryReader } from '../../control/overview/services.js'
import type { HistoryExchange } from './machines/history-exchange.js'
import type { History } from '../history/history.js'
import { readHistory } from '../history/query.js'

/** Returns the history as the API reads it. `flush` makes the processes of the proxy send their counts. */
export const historyReader = (
  history: History,
  { flush, exchange }: { flush: () => Promise<void>; exchange: HistoryExchange | undefined },
): HistoryReader => ({
  get isEnabled() {
    return history.isEnabled
  },
  get machines() {
    return exchange?.isConnected === true ? 'all' : 'this'
  },
  async read(query) {
    await flush()
    return await readHistory(history, query)
  },
  coverage: (from, to) => history.coverage(from, to),
})
