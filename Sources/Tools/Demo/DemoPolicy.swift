import LinkCore
import LinkServerCore

/// The numbers of the story: the policy of message streams with its waits cut down.
enum DemoPolicy {
  /// As `--set` takes them. In real life: tries after 0, 1, 2, 4 and 8 s, 5 s to open, silence
  /// 90 s, polls every 30 s, probes after 5 and 15 min.
  static let settings: [(key: String, value: String)] = [
    ("retry.first", "100ms,200ms,400ms,800ms,1600ms"),
    ("retry.reconnect", "0s,100ms,200ms,400ms,800ms"),
    ("retry.windows", "10/6s"),
    ("retry.stability", "1s"),
    ("retry.spread", "500ms"),
    // The token lasts until its end, so that the server is the one who says so.
    ("gate.refreshLead", "0s"),
    ("establish.timeout", "1s"),
    ("liveness.silence", "3s"),
    ("standby.interval", "1500ms"),
    ("standby.probe", "4s"),
    ("standby.slowProbe", "4s"),
  ]

  /// What two busy cores may take for what a policy has no number for: starting a process,
  /// reading a database, fetching what was missed.
  static let work = Duration.seconds(2)

  /// How long the relay waits before its first retry; its policy is played as it is.
  static let relayWait =
    LinkPolicy.healthRelayService.retry.reconnect.bounds(before: 0)?.upperBound ?? .zero

  /// What the phone is launched with.
  static var arguments: [String] {
    settings.flatMap { ["--set", "\($0.key)=\($0.value)"] }
  }

  /// The server's side: it pings every second instead of every 54 s, so that silence tells.
  static func server(offersStream: Bool) -> ShopServerPolicy {
    var policy = ShopServerPolicy()
    policy.pingInterval = .seconds(1)
    policy.pongWait = .seconds(4)
    policy.offersStream = offersStream
    return policy
  }

  static func policy() throws(PolicyError) -> LinkPolicy {
    try LinkPolicy.messageStream.setting(settings)
  }
}

extension Trouble {
  /// The longest times that `policy` allows, plus the work.
  func bounds(_ policy: LinkPolicy) -> Outcome.Bounds {
    let work = DemoPolicy.work
    let attempts = policy.retry.reconnect.attempts ?? 0
    let waits = (0..<attempts).compactMap { policy.retry.reconnect.bounds(before: $0)?.upperBound }
    let retry = (waits.max() ?? .zero) + policy.establish.timeout
    switch self {
    case .cut:
      return .init(noticed: work, whole: retry + work)
    case .halfOpen:
      // A try that hangs when the path returns ends by its own time, and the next one works.
      let silence = policy.liveness.silence ?? .zero
      return .init(noticed: silence + work, whole: policy.establish.timeout + retry + work)
    case .restart:
      return .init(noticed: work, whole: policy.retry.serverSpread + retry + work)
    case .expiry:
      return .init(noticed: work, whole: policy.establish.timeout + work)
    case .refusal:
      return .init(noticed: work, whole: poll(policy, \.interval) + work)
    case .noStream:
      return .init(
        noticed: nil, whole: poll(policy, \.slowProbe) + policy.establish.timeout + work)
    case .kill:
      return .init(noticed: nil, whole: policy.establish.timeout + work)
    case .openQuestion:
      return .init(noticed: work, whole: DemoPolicy.relayWait + work)
    }
  }

  private func poll(_ policy: LinkPolicy, _ wait: KeyPath<PollPolicy, Duration>) -> Duration {
    guard case .poll(let poll) = policy.standby else { return .zero }
    let longest = poll[keyPath: wait] * (1 + poll.jitter)
    return .milliseconds((longest.nanoseconds + 500_000) / 1_000_000)
  }
}
