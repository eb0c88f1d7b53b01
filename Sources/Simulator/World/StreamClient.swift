public import LinkCore
public import MessageStream

/// What can stand in the world as the phone's model of one shop: ours, or a user's own.
///
/// It speaks the inputs and effects of `StreamModel`; what else is asked lets judges look inside.
public protocol StreamClient: Machine
where Input == StreamModel.Input, Effect == StreamModel.Effect {
  /// A client that was just launched; `seed` is the start of its chance.
  init(settings: StreamSettings, seed: UInt64)

  /// What its user is told about the link.
  var status: LinkStatus { get }
  /// The attempt or connection that counts now; events of every other one are late.
  var currentAttempt: AttemptID? { get }
  /// Whether everything that the server was known to have is stored and shown.
  var isWhole: Bool { get }
  /// How much it holds in memory.
  var backlog: Backlog { get }
}

/// How much a client holds in memory; each has a bound.
public struct Backlog: Sendable, Hashable {
  /// Messages in the timeline.
  public var shown: Int
  /// Messages of the user that wait to be sent, or failed.
  public var unsent: Int
  /// Messages that wait for the store.
  public var unstored: Int
  /// Offsets that it knows beyond its cursor.
  public var ahead: Int

  public init(shown: Int, unsent: Int, unstored: Int, ahead: Int) {
    self.shown = shown
    self.unsent = unsent
    self.unstored = unstored
    self.ahead = ahead
  }
}
