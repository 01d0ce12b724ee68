import { headerMap, type Getter } from '../../expr/index.js'
import { everyOther } from './lists.js'
import type { FieldSource } from './source.js'

/** Header fields as rewritten by rules. Fields named after one header keep the value that the client sent. */
export const HEADER_GETTERS: Readonly<Record<string, Getter<FieldSource>>> = {
  'http.request.headers': ({ exchange }) => headerMap(exchange.clientHeaders),
  'http.request.headers.names': ({ exchange }) => everyOther(exchange.clientHeaders, 0),
  'http.request.headers.values': ({ exchange }) => everyOther(exchange.clientHeaders, 1),
}
