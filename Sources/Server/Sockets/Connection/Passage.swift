import HoldfastCore

/// One of the two connections of a request that is passed on to another server.
///
/// Both have this state: the one of the client, and the one to the other server. What one reads is
/// queued on the other.
final class Passage {
  /// The other connection.
  let other: ConnectionID
  /// The request, for the client's connection.
  let passed: Passed?
  /// Whether the end of the stream was read.
  var hasEnded = false
  /// Whether the other server has received the request.
  var isSent = false
  /// Whether the descriptor is not watched, because its stream has ended and is not read yet.
  var isParked = false
  /// Whether the other server has begun its response.
  var isAnswered = false
  /// Whether nothing is read until the other connection has sent what is queued.
  var isHeldBack = false

  /// A request that is passed on.
  struct Passed {
    let request: RequestID
    let isUpgrade: Bool
    /// The response if the other server cannot be reached.
    let refusal: [UInt8]
    /// The response if the other server has received the request and sends none.
    let failure: [UInt8]
  }

  init(with other: ConnectionID, _ passed: Passed? = nil) {
    (self.other, self.passed) = (other, passed)
  }
}
