import { httpSinkType } from './http/http-sink.js'

/**
 * A hosted collector of Sumo Logic, by its URL with https replaced. The owner of a job finds the ownership challenge among
 * the messages of the collector.
 */
export const sumo = httpSinkType({
  scheme: 'sumo',
  form: 'sumo://collector/receiver/v1/http/TOKEN',
  summary: 'one gzipped POST',
  secretPath: true,
  ownership: () => true,
  challenged: true,
})
