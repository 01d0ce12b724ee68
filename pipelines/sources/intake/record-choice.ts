import { ANY, type Dataset } from '../../records/index.js'

/** Part of a log entry that is the record, either the whole entry or its message. */
export type RecordChoice = 'event' | 'message'

/** Returns the option or its default. In a dataset with fields only the message can be a record. */
export const wantedRecord = (given: RecordChoice | undefined, { name }: Dataset): RecordChoice =>
  given ?? (name === ANY ? 'event' : 'message')
