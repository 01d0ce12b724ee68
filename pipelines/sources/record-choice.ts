import { ANY, type Dataset } from '../records/index.js'

/** Which part of a log entry is the record: all of it, or its message. */
export type RecordChoice = 'event' | 'message'

/** Returns the option, or its default: in a dataset with fields only the message can be a record. */
export const wantedRecord = (given: RecordChoice | undefined, { name }: Dataset): RecordChoice =>
  given ?? (name === ANY ? 'event' : 'message')
