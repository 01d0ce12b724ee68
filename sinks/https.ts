import { httpSinkType } from './http/http-sink.js'

/**
 * Sends each batch as one gzipped POST. `header_*` become headers, including the content type. Other parameters stay in
 * the URL.
 */
export const https = httpSinkType({ scheme: 'https', form: 'https://host/path', summary: 'one gzipped POST' })

/** The same without TLS, if the operator allows it. */
export const http = httpSinkType({
  scheme: 'http',
  form: 'http://host/path',
  summary: 'one gzipped POST, if `logpush.destinations.allow_plain_http` is true',
})
