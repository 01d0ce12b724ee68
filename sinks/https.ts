import { httpSinkType } from './http/http-sink.js'

/**
 * `https://host/path?header_NAME=value&other=..`: each batch is one gzipped POST. `header_*` become headers, the content type
 * among them, and the other parameters stay in the URL.
 */
export const https = httpSinkType({ scheme: 'https' })

/** The same without TLS, where the operator allows that. */
export const http = httpSinkType({ scheme: 'http' })
