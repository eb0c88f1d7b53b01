public import LinkCore

/// The rules of one service of a backend: a machine that can be drained, and asked how it is.
public protocol ServerRules: Machine {
  /// The input that begins a drain; clients are told to spread their return over `window`.
  static func drain(within window: Duration) -> Input

  /// Whether a drain has ended: nothing is open any more, or its time is up.
  var isFinished: Bool { get }

  /// Whether the service takes work, and whether its store does.
  var serviceHealth: ServiceHealth { get }

  /// The name of its store in the reasons of its health.
  static var storeName: String { get }

  /// Adds the counters and the present state of the service to the metrics of the backend.
  func report(to page: inout MetricsPage)
}

extension ServerRules {
  public static var storeName: String { "the store" }
}
