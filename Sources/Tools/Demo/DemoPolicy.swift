import HoldfastCore

/// The policy of the demo, which is the policy of message streams with shorter waits.
enum DemoPolicy {
  /// The settings, in the format of `--set`.
  ///
  /// The real policy makes attempts after 0, 1, 2, 4 and 8 s, and allows 5 s to open a connection.
  /// It detects silence after 90 s, polls every 30 s, and probes after 5 and 15 min.
  static let settings: [(key: String, value: String)] = [
    ("retry.first", "100ms,200ms,400ms,800ms,1600ms"),
    ("retry.reconnect", "0s,100ms,200ms,400ms,800ms"),
    ("retry.windows", "10/6s"),
    ("retry.stability", "1s"),
    ("retry.serverJitter", "500ms"),
    // The phone does not renew the token early, so that the server reports the expiration.
    ("gate.refreshLead", "0s"),
    ("establish.timeout", "1s"),
    ("liveness.silence", "3s"),
    ("standby.interval", "1500ms"),
    ("standby.probe", "4s"),
    ("standby.slowProbe", "4s"),
  ]

  /// The maximum wait of the relay before its first retry. The relay's policy is not shortened.
  static let relayWait =
    LinkPolicy.healthRelayService.retry.reconnect.bounds(before: 0)?.upperBound ?? .zero

  /// The arguments for the phone.
  static var arguments: [String] {
    settings.flatMap { ["--set", "\($0.key)=\($0.value)"] }
  }

  static func policy() throws(PolicyError) -> LinkPolicy {
    try LinkPolicy.messageStream.setting(settings)
  }
}

extension LinkPolicy {
  /// The maximum time from a failure until the next attempt has connected.
  var longestRetry: Duration {
    let attempts = retry.reconnect.attempts ?? 0
    let waits = (0..<attempts).compactMap { retry.reconnect.bounds(before: $0)?.upperBound }
    return (waits.max() ?? .zero) + establish.timeout
  }

  /// The maximum wait between two polls or probes, in whole milliseconds.
  func longestPoll(_ wait: KeyPath<PollPolicy, Duration>) -> Duration {
    guard case .poll(let poll) = standby else { return .zero }
    let longest = poll[keyPath: wait] * (1 + poll.jitter)
    return .milliseconds((longest.nanoseconds + 500_000) / 1_000_000)
  }
}
