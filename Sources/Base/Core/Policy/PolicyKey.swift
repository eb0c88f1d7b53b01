/// A key of a policy, with the meaning and the text form of its value.
///
/// A policy leaves the program only in the form of this table: `policy show`, `--set` and `Codable`
/// all use it.
public struct PolicyKey: Sendable {
  /// The names of the part and the value, such as `retry.first`.
  public let name: String
  /// A human-readable description in one line, including the meaning of special values.
  public let meaning: String
  /// The range of the numbers in the value, for error messages; `nil` if there are no numbers or
  /// `meaning` contains the range.
  var range: String?
  /// Returns the value as text; `nil` if this kind of policy does not have it.
  let read: @Sendable (PolicyDraft) -> String?
  /// Sets the value from text. Returns false if the text is invalid.
  let write: @Sendable (inout PolicyDraft, String) -> Bool

  /// Every key, in the order of tables.
  public static let all: [PolicyKey] =
    retryKeys + gateKeys + establishKeys + livenessKeys + standbyKeys + failureKeys
}

/// The parts of a policy before they are validated together.
struct PolicyDraft: Sendable {
  var name: String
  var retry: RetryPolicy
  var gate: GatePolicy
  var liveness: LivenessPolicy
  var establish: EstablishPolicy
  var standby: StandbyPolicy
  var actions: [FailureClass: FailureAction]
  let holdsLink: Bool

  init(_ policy: LinkPolicy) {
    name = policy.name
    retry = policy.retry
    gate = policy.gate
    liveness = policy.liveness
    establish = policy.establish
    standby = policy.standby
    actions = policy.actions
    holdsLink = policy.holdsLink
  }

  func checked() throws(PolicyError) -> LinkPolicy {
    try LinkPolicy(
      name: name, retry: retry, gate: gate, liveness: liveness, establish: establish,
      standby: standby, actions: actions, holdsLink: holdsLink)
  }

  /// Returns a value as text; `nil` if this kind of policy does not have it.
  func value(of key: PolicyKey) -> String? {
    holdsLink || key.name.hasPrefix("retry.") ? key.read(self) : nil
  }
}

extension LinkPolicy {
  /// Every value of this policy with its key, in the order of tables.
  public var values: [(key: String, value: String)] {
    let draft = PolicyDraft(self)
    return PolicyKey.all.compactMap { key in draft.value(of: key).map { (key.name, $0) } }
  }

  /// Returns this policy with changed values.
  ///
  ///     let policy = try LinkPolicy.socket.setting([
  ///       ("liveness.ping", "1m"), ("retry.windows", "6/1m"),
  ///     ])
  ///
  /// The page `docs/policies.md`, an article of `HoldfastSocket`, lists all keys with their meanings
  /// and their values in each preset.
  ///
  /// - Parameter changes: Keys and values in the form of `values`. All are applied before
  ///   validation.
  /// - Throws: `PolicyError` with every unknown key, invalid value and broken rule.
  public func setting(_ changes: [(key: String, value: String)]) throws(PolicyError) -> LinkPolicy {
    var draft = PolicyDraft(self)
    var problems: [String] = []
    for change in changes {
      guard let key = PolicyKey.all.first(where: { $0.name == change.key }) else {
        problems.append("\(change.key) is not a policy key; see `holdfast policy show \(name)`")
        continue
      }
      guard draft.value(of: key) != nil else {
        problems.append("\(change.key) has no meaning for \(name)")
        continue
      }
      if !key.write(&draft, change.value) {
        let range = key.range.map { "; its range is \($0)" } ?? ""
        problems.append(
          "\(change.key) cannot be \"\(change.value)\"; it is \(key.meaning)\(range)")
      }
    }
    guard problems.isEmpty else { throw PolicyError(problems: problems) }
    return try draft.checked()
  }
}

/// A function that accesses one value inside another. It passes the inner value to a closure and
/// returns the closure's result.
///
/// It replaces a key path, which Embedded Swift does not have.
typealias Accessor<Whole, Value> = @Sendable (inout Whole, (inout Value) -> Value) -> Value

extension PolicyKey {
  /// Returns the value that an accessor selects.
  static func read<Whole, Value>(_ whole: Whole, _ accessor: Accessor<Whole, Value>) -> Value {
    var copy = whole
    return accessor(&copy) { $0 }
  }

  /// Sets the value that an accessor selects. Always returns true.
  @discardableResult static func write<Whole, Value>(
    _ value: Value, to whole: inout Whole, _ accessor: Accessor<Whole, Value>
  ) -> Bool {
    _ = accessor(&whole) {
      $0 = value
      return value
    }
    return true
  }

  /// Returns a key for a duration.
  static func duration(
    _ name: String, _ meaning: String,
    _ accessor: @escaping Accessor<PolicyDraft, Duration>
  ) -> PolicyKey {
    PolicyKey(
      name: name, meaning: meaning + " (a duration such as 250ms, 30s, 15m)",
      range: Duration.written.text
    ) {
      read($0, accessor).text
    } write: { draft, text in
      guard let value = Duration(text: text) else { return false }
      return write(value, to: &draft, accessor)
    }
  }

  /// Returns a key for a duration that may be absent, written `off`.
  static func optional(
    _ name: String, _ meaning: String,
    _ accessor: @escaping Accessor<PolicyDraft, Duration?>
  ) -> PolicyKey {
    PolicyKey(name: name, meaning: meaning + " (a duration, or off)", range: Duration.written.text)
    {
      read($0, accessor)?.text ?? "off"
    } write: { draft, text in
      guard text != "off" else {
        return write(nil, to: &draft, accessor)
      }
      guard let value = Duration(text: text) else { return false }
      return write(value, to: &draft, accessor)
    }
  }

  /// Returns a key for a count. Its meaning must contain the range.
  static func count(
    _ name: String, _ meaning: String, _ accessor: @escaping Accessor<PolicyDraft, Int>
  ) -> PolicyKey {
    PolicyKey(name: name, meaning: meaning) {
      String(read($0, accessor))
    } write: { draft, text in
      guard let value = WrittenNumber.count(text) else { return false }
      return write(value, to: &draft, accessor)
    }
  }

  /// Returns a key whose value is one of a few names.
  static func choice<Choice: RawRepresentable<String> & CaseIterable & SendableMetatype>(
    _ name: String, _ meaning: String,
    _ accessor: @escaping Accessor<PolicyDraft, Choice>
  ) -> PolicyKey {
    let names = Choice.allCases.map { $0.rawValue }.joined(separator: ", ")
    return PolicyKey(name: name, meaning: "\(meaning) (one of \(names))") {
      read($0, accessor).rawValue
    } write: { draft, text in
      guard let value = Choice(rawValue: text) else { return false }
      return write(value, to: &draft, accessor)
    }
  }

  /// Returns a key for a schedule.
  static func schedule(
    _ name: String, _ meaning: String,
    _ accessor: @escaping Accessor<PolicyDraft, Schedule>
  ) -> PolicyKey {
    let forms = "a list such as 0s,1s,2s, or 1s*2 max 30s +-0.25 min 1s x20"
    return PolicyKey(name: name, meaning: "\(meaning) (\(forms))", range: Schedule.form) {
      read($0, accessor).text
    } write: { draft, text in
      guard let value = Schedule(text: text) else { return false }
      return write(value, to: &draft, accessor)
    }
  }
}

extension PolicyKey {
  static let gateKeys: [PolicyKey] = [
    PolicyKey(
      name: "gate.credentials", meaning: "whether tries wait for credentials (true, false)"
    ) {
      String($0.gate.needsCredentials)
    } write: { draft, text in
      guard let value = Bool(text) else { return false }
      draft.gate.needsCredentials = value
      return true
    },
    .duration(
      "gate.refreshLead", "credentials are refreshed this long before they expire",
      { $1(&$0.gate.refreshLead) }),
    .duration(
      "gate.refreshTimeout", "the longest a refresh may take", { $1(&$0.gate.refreshTimeout) }),
    .duration("gate.debounce", "the wait after a change of network", { $1(&$0.gate.debounce) }),
    .choice("gate.networkChange", "what a change of network does", { $1(&$0.gate.networkChange) }),
    PolicyKey(
      name: "gate.background",
      meaning: "what background does (stay, or AFTER then hold|standby|idle such as 5s standby)"
    ) {
      switch $0.gate.background {
      case .stay: "stay"
      case .leave(let after, let then): "\(after.text) \(then.rawValue)"
      }
    } write: { draft, text in
      let parts = text.split(separator: " ")
      if text == "stay" {
        draft.gate.background = .stay
        return true
      }
      guard parts.count == 2, let after = Duration(text: parts[0]),
        let then = BackgroundRule.AfterLeaving(rawValue: String(parts[1]))
      else { return false }
      draft.gate.background = .leave(after: after, then: then)
      return true
    },
    PolicyKey(
      name: "gate.foreground",
      meaning: "how long after coming to the front it connects (a duration, or wait)",
      range: Duration.written.text
    ) {
      switch $0.gate.foreground {
      case .connect(let after): after.text
      case .wait: "wait"
      }
    } write: { draft, text in
      if text == "wait" {
        draft.gate.foreground = .wait
        return true
      }
      guard let after = Duration(text: text) else { return false }
      draft.gate.foreground = .connect(after: after)
      return true
    },
    PolicyKey(
      name: "gate.portalProbe",
      meaning: "time for the check for a login page after a failed try (a duration, or off)",
      range: Duration.written.text
    ) {
      $0.gate.portal.map { $0.probe?.text ?? "off" }
    } write: { draft, text in
      let value = Duration(text: text)
      guard text == "off" || value != nil else { return false }
      draft.gate.portal?.probe = value
      return true
    },
    PolicyKey(
      name: "gate.portalWait",
      meaning: "how long a login page holds the link (a duration such as 30s)",
      range: Duration.written.text
    ) {
      $0.gate.portal?.wait.text
    } write: { draft, text in
      guard let value = Duration(text: text) else { return false }
      draft.gate.portal?.wait = value
      return true
    },
  ]

  static let establishKeys: [PolicyKey] = [
    .choice("establish.milestone", "what counts as connected", { $1(&$0.establish.milestone) }),
    // If the milestone is the open transport, both time-outs are shown as one value.
    PolicyKey(
      name: "establish.timeout", meaning: "time to the milestone (a duration such as 5s)",
      range: Duration.written.text
    ) {
      $0.establish.timeout.text
    } write: { draft, text in
      guard let value = Duration(text: text) else { return false }
      draft.establish.timeout = value
      if draft.establish.milestone == .opened || draft.establish.openTimeout > value {
        draft.establish.openTimeout = value
      }
      return true
    },
    // This key comes after the key that also changes its value, so that a policy written in this
    // order is read back unchanged.
    .duration(
      "establish.openTimeout", "time for the transport to open", { $1(&$0.establish.openTimeout) }),
    .optional(
      "establish.prepare", "time for what is fetched before the connect",
      { $1(&$0.establish.prepare) }),
  ]

  static let livenessKeys: [PolicyKey] = [
    .optional(
      "liveness.silence", "a link without a byte for this long is dead",
      { $1(&$0.liveness.silence) }),
    .optional("liveness.ping", "our own ping after this long", { $1(&$0.liveness.ping) }),
    .optional(
      "liveness.degradedPing", "the same while the quality is degraded, off for no difference",
      { $1(&$0.liveness.degradedPing) }),
    .optional(
      "liveness.poorPing", "the same while the quality is poor, off for no difference",
      { $1(&$0.liveness.poorPing) }),
    .duration(
      "liveness.pongTimeout", "the least time a pong may take", { $1(&$0.liveness.pongTimeout) }),
    .count(
      "liveness.pongRoundTrips", "round trips a pong may take (1 to 100)",
      { $1(&$0.liveness.pongRoundTrips) }),
    .count(
      "liveness.pongTries", "pings without an answer that end a link (1 to 10)",
      { $1(&$0.liveness.pongTries) }),
    PolicyKey(
      name: "liveness.idle",
      meaning: "a link without data ends (AFTER then idle|standby such as 15m idle, or off)",
      range: Duration.written.text
    ) {
      $0.liveness.idle.map { "\($0.after.text) \($0.then.rawValue)" } ?? "off"
    } write: { draft, text in
      guard text != "off" else {
        draft.liveness.idle = nil
        return true
      }
      let parts = text.split(separator: " ")
      guard parts.count == 2, let after = Duration(text: parts[0]),
        let then = IdleRule.Then(rawValue: String(parts[1]))
      else { return false }
      draft.liveness.idle = IdleRule(after: after, then: then)
      return true
    },
  ]

  static let standbyKeys: [PolicyKey] = [
    poll("standby.interval", "the wait between polls", { $1(&$0.interval) }),
    PolicyKey(
      name: "standby.jitter", meaning: "the jitter of polls as a share of the wait (0 to 0.5)"
    ) {
      guard case .poll(let poll) = $0.standby else { return nil }
      return String(poll.jitter)
    } write: { draft, text in
      guard case .poll(var poll) = draft.standby, let value = WrittenNumber.share(text)
      else { return false }
      poll.jitter = value
      draft.standby = .poll(poll)
      return true
    },
    poll("standby.probe", "the wait between probes of the link", { $1(&$0.probe) }),
    poll(
      "standby.slowProbe", "the same where the server does not offer the link",
      { $1(&$0.slowProbe) }),
    queue("standby.rearm", "the wait before the queued connect is armed again", { $1(&$0.rearm) }),
    queue(
      "standby.fastFailure", "a queued connect that ends sooner has failed fast",
      { $1(&$0.fastFailure) }),
    queue(
      "standby.floor", "the least time between two queued connects after a fast failure",
      { $1(&$0.floor) }),
    queue(
      "standby.background", "the longest such time while the app is in the background",
      { $1(&$0.background) }),
    queue(
      "standby.rest", "how long the system ignores the peer after an idle link",
      { $1(&$0.rest) }),
  ]

  private static func queue(
    _ name: String, _ meaning: String, _ accessor: @escaping Accessor<QueuePolicy, Duration>
  ) -> PolicyKey {
    PolicyKey(
      name: name, meaning: meaning + " (a duration such as 1s)", range: Duration.written.text
    ) {
      guard case .queuedConnect(let queue) = $0.standby else { return nil }
      return read(queue, accessor).text
    } write: { draft, text in
      guard case .queuedConnect(var queue) = draft.standby, let value = Duration(text: text) else {
        return false
      }
      write(value, to: &queue, accessor)
      draft.standby = .queuedConnect(queue)
      return true
    }
  }

  private static func poll(
    _ name: String, _ meaning: String, _ accessor: @escaping Accessor<PollPolicy, Duration>
  ) -> PolicyKey {
    PolicyKey(
      name: name, meaning: meaning + " (a duration such as 30s)", range: Duration.written.text
    ) {
      guard case .poll(let poll) = $0.standby else { return nil }
      return read(poll, accessor).text
    } write: { draft, text in
      guard case .poll(var poll) = draft.standby, let value = Duration(text: text) else {
        return false
      }
      write(value, to: &poll, accessor)
      draft.standby = .poll(poll)
      return true
    }
  }
}

extension PolicyKey {
  static let retryKeys: [PolicyKey] = [
    .schedule(
      "retry.first", "waits after failed tries of the first connection", { $1(&$0.retry.first) }),
    .schedule(
      "retry.reconnect", "waits before tries after an established link was lost",
      { $1(&$0.retry.reconnect) }),
    PolicyKey(
      name: "retry.windows", meaning: "tries allowed (such as 10/1m or 4/1s,10/1m)",
      range:
        "1 to 1000 tries within at most \(longestWindow.text), in at most \(mostWindows) windows"
    ) {
      $0.retry.windows.map { "\($0.attempts)/\($0.per.text)" }.joined(separator: ",")
    } write: { draft, text in
      let windows = text.split(separator: ",", omittingEmptySubsequences: false).map {
        window(of: $0)
      }
      guard !windows.contains(nil), windows.count <= mostWindows else { return false }
      draft.retry.windows = windows.compactMap { $0 }
      return true
    },
    PolicyKey(
      name: "retry.breaker", meaning: "a pause after many failures (such as 20/10m:5m, or off)",
      range: "1 to 1000 failures within at most \(longestWindow.text), a pause of "
        + Duration.written.text
    ) {
      guard let breaker = $0.retry.breaker else { return "off" }
      return "\(breaker.failures)/\(breaker.within.text):\(breaker.pause.text)"
    } write: { draft, text in
      guard text != "off" else {
        draft.retry.breaker = nil
        return true
      }
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, let window = window(of: parts[0]),
        let pause = Duration(text: parts[1])
      else { return false }
      draft.retry.breaker = Breaker(
        failures: window.attempts, within: window.per, pause: pause)
      return true
    },
    .duration(
      "retry.stability", "a link that stood this long starts a new series when lost",
      { $1(&$0.retry.stability.after) }),
    PolicyKey(
      name: "retry.provenByData", meaning: "whether valid data proves a link at once (true, false)"
    ) {
      String($0.retry.stability.provenByData)
    } write: { draft, text in
      guard let value = Bool(text) else { return false }
      draft.retry.stability.provenByData = value
      return true
    },
    .duration(
      "retry.serverJitter", "retries after a refusal or close by the server spread over this",
      { $1(&$0.retry.serverJitter) }),
    .duration(
      "retry.maxRetryAfter", "the longest Retry-After or drain window honored",
      { $1(&$0.retry.maxRetryAfter) }),
  ]

  /// The longest window. A phone that has used up its attempts waits at most this long.
  private static let longestWindow = Duration.seconds(86_400)
  private static let mostWindows = 10

  private static func window(of text: some StringProtocol) -> AttemptWindow? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let attempts = WrittenNumber.count(parts[0]),
      let per = Duration(text: parts[1]), per <= longestWindow
    else { return nil }
    return AttemptWindow(attempts: attempts, per: per)
  }

  static let failureKeys: [PolicyKey] = FailureClass.allCases.map { row in
    PolicyKey(
      name: "failure.\(row.rawValue)",
      meaning:
        "what follows (one of \(FailureAction.allCases.map { $0.rawValue }.joined(separator: ", ")))"
    ) {
      ($0.actions[row] ?? .retry).rawValue
    } write: { draft, text in
      guard let action = FailureAction(rawValue: text) else { return false }
      draft.actions[row] = action
      return true
    }
  }
}
