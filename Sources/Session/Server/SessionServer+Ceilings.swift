import HoldfastCore
import HoldfastServerParts

extension SessionServer {
  /// Returns the refusal of an upgrade for which there is no room; `nil` if there is room.
  mutating func noRoom(for arrival: Arrival) -> HTTPRefusal? {
    guard mode == .serving else {
      metrics.refusals.add(.draining)
      return HTTPRefusal(503, "draining", retryAfter: policy.busyRetry)
    }
    guard sockets.count < policy.maxSockets else {
      metrics.refusals.add(.ceiling(.sessions))
      return HTTPRefusal(503, "too busy", retryAfter: policy.busyRetry)
    }
    guard sockets.count(from: arrival.address) < policy.socketsPerAddress else {
      metrics.refusals.add(.ceiling(.addressSessions))
      return HTTPRefusal(429, "too many sockets", retryAfter: policy.busyRetry)
    }
    return nil
  }
}
