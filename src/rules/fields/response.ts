import { headerMap, mediaType, type Getter } from '../../expr/index.js'
import { headerOf } from '../../http/headers.js'
import { everyOther } from './lists.js'
import type { FieldSource } from './source.js'

/** Fields of the answer; missing before there is one, the raw ones where no origin gave it. */
export const ANSWER_GETTERS: Readonly<Record<string, Getter<FieldSource>>> = {
  'http.response.code': ({ exchange }) => exchange.answer?.status,
  'http.response.headers': ({ exchange: { answer } }) => answer && headerMap(answer.headers),
  'http.response.headers.names': ({ exchange: { answer } }) => answer && everyOther(answer.headers, 0),
  'http.response.headers.values': ({ exchange: { answer } }) => answer && everyOther(answer.headers, 1),
  'http.response.content_type.media_type': ({ exchange: { answer } }) =>
    answer && mediaType(headerOf(answer.headers, 'content-type') ?? ''),
  'raw.http.response.headers': ({ exchange: { answer } }) => answer?.originHeaders && headerMap(answer.originHeaders),
  'raw.http.response.headers.names': ({ exchange: { answer } }) =>
    answer?.originHeaders && everyOther(answer.originHeaders, 0),
  'raw.http.response.headers.values': ({ exchange: { answer } }) =>
    answer?.originHeaders && everyOther(answer.originHeaders, 1),
  'cf.response.1xxx_code': ({ exchange }) => exchange.edgeError?.code ?? 0,
  'cf.response.error_type': ({ exchange }) => exchange.edgeError?.type ?? '',
}
