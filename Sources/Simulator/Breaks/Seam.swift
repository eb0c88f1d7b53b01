import LinkCore
import LinkWire
import MessageStream

/// How a defect changes what passes between a client and its world.
struct Seam {
  init(_ defect: Break?) {}

  /// The numbers that the client goes by.
  mutating func settings(_ settings: StreamSettings) -> StreamSettings { settings }

  /// What really reaches the client for one input.
  mutating func inputs(
    _ input: StreamModel.Input, current: AttemptID?, status: LinkStatus
  ) -> [StreamModel.Input] { [input] }

  /// What really leaves it.
  mutating func effects(_ effect: StreamModel.Effect) -> [StreamModel.Effect] { [effect] }

  /// What the store is said to have answered.
  mutating func stored(_ commit: TimelineCommit, of change: TimelineChange) -> TimelineCommit {
    commit
  }

  /// A commit is answered at once and becomes durable later.
  var acknowledgesEarly: Bool { false }

  /// The client's clock stands still while it is suspended.
  var timersStopAsleep: Bool { false }

  /// A new run of the process begins.
  mutating func launched() {}
}
