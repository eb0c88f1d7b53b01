import LinkCore

/// The parts of a policy, each number of which is read and written by its key, told a second time.
struct PolicySheet {
  let name: String
  var retry: RetryPolicy
  var gate: GatePolicy
  var liveness: LivenessPolicy
  var establish: EstablishPolicy
  var standby: StandbyPolicy
  var verdicts: [FailureClass: Verdict]
  /// False for work that is only tried again, of which nothing else is shown.
  let holdsLink: Bool

  init(_ policy: LinkPolicy) {
    (name, retry, gate) = (policy.name, policy.retry, policy.gate)
    (liveness, establish, standby) = (policy.liveness, policy.establish, policy.standby)
    (verdicts, holdsLink) = (policy.verdicts, policy.holdsLink)
  }

  func made() throws(PolicyError) -> LinkPolicy {
    try LinkPolicy(
      name: name, retry: retry, gate: gate, liveness: liveness, establish: establish,
      standby: standby, verdicts: verdicts, holdsLink: holdsLink)
  }

  var poll: PollPolicy? {
    get { if case .poll(let poll) = standby { poll } else { nil } }
    set { if let newValue { standby = .poll(newValue) } }
  }

  var queue: QueuePolicy? {
    get { if case .queuedConnect(let queue) = standby { queue } else { nil } }
    set { if let newValue { standby = .queuedConnect(newValue) } }
  }

  /// What is wrong with a change; `nil` if it was made.
  mutating func change(_ name: String, to text: String) -> String? {
    guard let key = PolicySheetKey.all.first(where: { $0.name == name }) else {
      return "\(name) is no key of a policy; see `holdfast policy show \(self.name)`"
    }
    if value(key) == nil { return "\(name) has no meaning for \(self.name)" }
    guard !write(text, to: key) else { return nil }
    let start = "\(name) cannot be \"\(text)\"; it is \(key.meaning)"
    return key.range.map { "\(start); its range is \($0)" } ?? start
  }

  /// The text of a number; `nil` where this kind of policy has no such number.
  func value(_ key: PolicySheetKey) -> String? {
    holdsLink || key.name.hasPrefix("retry.") ? read(key) : nil
  }

  /// The same of any kind of policy.
  func read(_ key: PolicySheetKey) -> String? {
    switch key.place {
    case .duration(let place): PolicyText.text(self[keyPath: place])
    case .optional(let place): self[keyPath: place].map { PolicyText.text($0) } ?? "off"
    case .poll(let place): poll.map { PolicyText.text($0[keyPath: place]) }
    case .queue(let place): queue.map { PolicyText.text($0[keyPath: place]) }
    case .count(let place): "\(self[keyPath: place])"
    case .flag(let place): self[keyPath: place] ? "true" : "false"
    case .schedule(let place): PolicyText.text(self[keyPath: place])
    case .verdict(let row): verdicts[row].map { $0.rawValue }
    case .own: own(key.name)
    }
  }

  private func own(_ name: String) -> String? {
    switch name {
    case "retry.windows":
      let all = retry.windows.map { "\($0.attempts)/" + PolicyText.text($0.per) }
      return all.joined(separator: ",")
    case "retry.breaker":
      return retry.breaker.map {
        "\($0.failures)/\(PolicyText.text($0.within)):\(PolicyText.text($0.pause))"
      } ?? "off"
    case "gate.networkChange": return gate.networkChange.rawValue
    case "gate.background":
      guard case .leave(let after, let then) = gate.background else { return "stay" }
      return PolicyText.text(after) + " " + then.rawValue
    case "gate.foreground":
      guard case .connect(let after) = gate.foreground else { return "wait" }
      return PolicyText.text(after)
    case "gate.portalProbe":
      guard let portal = gate.portal else { return nil }
      return portal.probe.map { PolicyText.text($0) } ?? "off"
    case "gate.portalWait": return gate.portal.map { PolicyText.text($0.wait) }
    case "establish.milestone": return establish.milestone.rawValue
    case "establish.timeout": return PolicyText.text(establish.timeout)
    case "liveness.idle":
      guard let idle = liveness.idle else { return "off" }
      return PolicyText.text(idle.after) + " " + idle.then.rawValue
    case "standby.jitter": return poll.map { "\($0.jitter)" }
    case _: return nil
    }
  }
}

// Writing.
extension PolicySheet {
  /// Puts a text in; false if it is no such value.
  private mutating func write(_ text: String, to key: PolicySheetKey) -> Bool {
    let duration = PolicyText.duration(text)
    switch key.place {
    case .duration(let place): return put(duration) { $0[keyPath: place] = $1 }
    case .optional(let place):
      if text == "off" {
        self[keyPath: place] = nil
        return true
      }
      return put(duration) { $0[keyPath: place] = $1 }
    case .poll(let place): return put(duration) { $0.poll?[keyPath: place] = $1 }
    case .queue(let place): return put(duration) { $0.queue?[keyPath: place] = $1 }
    case .count(let place): return put(PolicyText.count(text)) { $0[keyPath: place] = $1 }
    case .flag(let place):
      let flag: Bool? = text == "true" ? true : text == "false" ? false : nil
      return put(flag) { $0[keyPath: place] = $1 }
    case .schedule(let place): return put(PolicyText.schedule(text)) { $0[keyPath: place] = $1 }
    case .verdict(let row):
      return put(Verdict.allCases.first { $0.rawValue == text }) { $0.verdicts[row] = $1 }
    case .own: return writeOwn(text, key.name)
    }
  }

  private mutating func put<Value>(
    _ value: Value?, _ place: (inout PolicySheet, Value) -> Void
  ) -> Bool {
    guard let value else { return false }
    place(&self, value)
    return true
  }

  private mutating func writeOwn(_ text: String, _ name: String) -> Bool {
    let duration = PolicyText.duration(text)
    switch name {
    case "retry.windows": return put(PolicyText.windows(text)) { $0.retry.windows = $1 }
    case "retry.breaker":
      let value = text == "off" ? .some(nil) : PolicyText.breaker(text).map { Breaker?.some($0) }
      return put(value) { $0.retry.breaker = $1 }
    case "gate.networkChange":
      let rule = NetworkChangeRule.allCases.first { $0.rawValue == text }
      return put(rule) { $0.gate.networkChange = $1 }
    case "gate.background":
      return put(text == "stay" ? .stay : Self.leaving(text)) { $0.gate.background = $1 }
    case "gate.foreground":
      let rule: ForegroundRule? = text == "wait" ? .wait : duration.map { .connect(after: $0) }
      return put(rule) { $0.gate.foreground = $1 }
    case "gate.portalProbe":
      let value = text == "off" ? .some(nil) : duration.map { Duration?.some($0) }
      return put(value) { $0.gate.portal?.probe = $1 }
    case "gate.portalWait": return put(duration) { $0.gate.portal?.wait = $1 }
    case "establish.milestone":
      let words = EstablishPolicy.Milestone.allCases.first { $0.rawValue == text }
      return put(words) { $0.establish.milestone = $1 }
    case "establish.timeout": return put(duration) { $0.establishWithin($1) }
    case "liveness.idle":
      let value = text == "off" ? .some(nil) : Self.idle(text).map { IdleRule?.some($0) }
      return put(value) { $0.liveness.idle = $1 }
    case "standby.jitter": return put(PolicyText.share(text)) { $0.poll?.jitter = $1 }
    case _: return false
    }
  }

  /// Where the open transport is the milestone, both times are one; a transport cannot take longer.
  private mutating func establishWithin(_ time: Duration) {
    let open = establish.openTimeout
    establish.timeout = time
    establish.openTimeout = establish.milestone == .opened ? time : open < time ? open : time
  }

  private static func leaving(_ text: String) -> BackgroundRule? {
    let words = text.split(separator: " ").map { String($0) }
    guard words.count == 2, let after = PolicyText.duration(words[0]),
      let then = BackgroundRule.AfterLeaving.allCases.first(where: { $0.rawValue == words[1] })
    else { return nil }
    return .leave(after: after, then: then)
  }

  private static func idle(_ text: String) -> IdleRule? {
    let words = text.split(separator: " ").map { String($0) }
    guard words.count == 2, let after = PolicyText.duration(words[0]),
      let then = IdleRule.Then.allCases.first(where: { $0.rawValue == words[1] })
    else { return nil }
    return IdleRule(after: after, then: then)
  }
}
