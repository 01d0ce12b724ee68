import { when } from '../../parts/format.ts'

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g

/** Returns the text of something that needs attention with its times as the dashboard writes them. */
export const attentionText = (text: string, now = Date.now()): string =>
  text.replaceAll(TIME, (time) => when(time, now))
