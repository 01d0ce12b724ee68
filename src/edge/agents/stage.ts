import type { Stage } from '../exchange/response.js'
import { isForRobots, robotsResponse, type RobotsDeps } from './robots-response.js'

/** Changes what the origin sends to agents. */
export function agentsStage(deps: RobotsDeps): Stage {
  return (exchange, next) => (isForRobots(exchange) ? robotsResponse(next, exchange, deps) : next)
}
