import type { RawHeaders } from '../../http/headers.js'
import { ForwardingSink } from '../exchange/response.js'

/** Marks a response that depends on the agent, so that a cache behind the edge gives it to no other client. */
export class AgentVariant extends ForwardingSink {
  override head(status: number, headers: RawHeaders): void {
    const at = headers.findIndex((name, place) => place % 2 === 0 && name.toLowerCase() === 'vary')
    const varied =
      at === -1 ? [...headers, 'vary', 'accept, user-agent'] : headers.with(at + 1, `${headers[at + 1]!}, user-agent`)
    this.next.head(status, varied)
  }
}
