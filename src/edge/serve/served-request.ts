import type { ClientStream } from '../client/client-stream.js'
import { RequestBody } from '../client/request-body.js'
import type { Exchange } from '../exchange/exchange.js'
import type { ClientResponse } from './client-response.js'
import type { Switch } from './forward.js'
import type { ProxyContext } from './proxy-context.js'
import type { RequestFields } from './request-fields.js'

/** A request whose zone is known, on its way to its response. One object for all steps, because each request has one. */
export class ServedRequest {
  readonly client: ClientResponse
  readonly exchange: Exchange
  readonly fields: RequestFields
  readonly context: ProxyContext
  /** Max-Forwards ends an OPTIONS here. */
  readonly isLastHop: boolean
  /** Null if the request has no body, and before {@link openBody}. */
  body: RequestBody | null = null
  /** Continues with another protocol. Undefined if the request does not ask for one. */
  switched: Switch | undefined

  constructor(
    client: ClientResponse,
    exchange: Exchange,
    fields: RequestFields,
    context: ProxyContext,
    isLastHop: boolean,
  ) {
    this.client = client
    this.exchange = exchange
    this.fields = fields
    this.context = context
    this.isLastHop = isLastHop
  }

  /** Begins to read the body, if there is one. */
  openBody(): RequestBody | null {
    const { connection } = this.client
    if (connection.hasBody) this.body ??= bodyOf(connection, this.exchange, this.fields)
    return this.body
  }
}

/** Returns the body of a request. The client is asked to send it when it is first read, unless it already sends. */
function bodyOf(connection: ClientStream, { httpVersion }: Exchange, { expect }: RequestFields): RequestBody {
  const body = new RequestBody(connection, (arrived) => {
    if (expect === undefined || httpVersion === '1.0' || arrived || connection.writer.begun) return
    connection.interim(100, [])
  })
  connection.body = body
  return body
}
