public import HoldfastCore
public import HoldfastLinkChecks

/// A model that a world can run.
public protocol SimulatedModel: CheckedModel {
  /// Returns the model's input for an event; `nil` if the model has no such input.
  static func input(_ event: LinkEvent, at wall: Timestamp) -> Input?
  /// Returns the input with its attempt replaced; unchanged if the input belongs to no attempt.
  static func renamed(_ input: Input, to attempt: AttemptID) -> Input
}

extension LinkModel {
  public static func input(_ event: LinkEvent, at wall: Timestamp) -> Input? {
    Input(event, at: wall)
  }
}

extension LinkClient {
  /// Returns the state of the model. The method changes nothing; it is mutating so that an array
  /// element is read in place instead of being copied.
  mutating func glance() -> Glance {
    Glance(
      status: status, deadline: deadline, current: currentAttempt, queued: queuedAttempt,
      wait: wait)
  }
}

/// The part of a model's state that checkers use.
struct Glance {
  public var status: LinkStatus
  public var deadline: Instant?
  var current: AttemptID?
  var queued: AttemptID?
  var wait: RetryWait?
}
