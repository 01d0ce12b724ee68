import { headerMap, mediaType, type Getter } from '../../expr/index.js'
import { headerOf } from '../../http/headers.js'
import { everyOther } from './lists.js'
import type { FieldSource } from './source.js'

/**
 * Fields of the response. Missing before the response exists. The raw fields are missing if no origin sent the
 * response.
 */
export const RESPONSE_GETTERS: Readonly<Record<string, Getter<FieldSource>>> = {
  'http.response.code': ({ exchange }) => exchange.response?.status,
  'http.response.headers': ({ exchange: { response } }) => response && headerMap(response.headers),
  'http.response.headers.names': ({ exchange: { response } }) => response && everyOther(response.headers, 0),
  'http.response.headers.values': ({ exchange: { response } }) => response && everyOther(response.headers, 1),
  'http.response.content_type.media_type': ({ exchange: { response } }) =>
    response && mediaType(headerOf(response.headers, 'content-type') ?? ''),
  'raw.http.response.headers': ({ exchange: { response } }) =>
    response?.originHeaders && headerMap(response.originHeaders),
  'raw.http.response.headers.names': ({ exchange: { response } }) =>
    response?.originHeaders && everyOther(response.originHeaders, 0),
  'raw.http.response.headers.values': ({ exchange: { response } }) =>
    response?.originHeaders && everyOther(response.originHeaders, 1),
  'cf.response.1xxx_code': ({ exchange }) => exchange.decisions.edgeError?.code ?? 0,
  'cf.response.error_type': ({ exchange }) => exchange.decisions.edgeError?.type ?? '',
}
