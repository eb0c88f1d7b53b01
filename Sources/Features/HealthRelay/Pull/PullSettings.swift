package import LinkCore

/// The numbers of a pull.
package struct PullSettings: Sendable, Hashable, Codable {
  /// The whole pull, from its first step to its last (seed 000: a push gives an app some 30 s).
  package var budget: Duration
  /// Questions that are leased at once; ours: what fits the budget at a few seconds each.
  package var leaseLimit: Int
  /// The longest wait for one answer of the backend; ours.
  package var exchangeLimit: Duration
  /// Nothing is begun with less time than this; ours: a round trip over a slow network.
  package var leastTime: Duration
  /// Kept free behind reading, for sending what was read; ours.
  package var sendTime: Duration
  /// Waits before an exchange is tried again; ours, all of them fit the budget.
  package var retries: Schedule

  /// The seed's budget and our numbers.
  package init(
    budget: Duration = .seconds(25), leaseLimit: Int = 4, exchangeLimit: Duration = .seconds(8),
    leastTime: Duration = .seconds(1), sendTime: Duration = .seconds(4),
    retries: Schedule = .list([.milliseconds(500), .seconds(1), .seconds(2), .seconds(4)])
  ) {
    self.budget = budget
    self.leaseLimit = leaseLimit
    self.exchangeLimit = exchangeLimit
    self.leastTime = leastTime
    self.sendTime = sendTime
    self.retries = retries
  }

  /// A pull that failed for a cause that may pass is worth repeating after this; ours.
  package static let pause = Duration.seconds(60)
  /// The longest wish of the backend that is passed on; ours.
  package static let longestPause = Duration.seconds(3_600)
}
