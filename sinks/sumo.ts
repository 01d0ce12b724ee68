import { httpSinkType } from './http/http-sink.js'

/**
 * `sumo://collector/receiver/v1/http/TOKEN`: a hosted collector of Sumo Logic, its URL with https replaced. The owner of a job
 * finds the ownership challenge among the collector's messages.
 */
export const sumo = httpSinkType({ scheme: 'sumo', secretPath: true, ownership: () => true, challenged: true })
