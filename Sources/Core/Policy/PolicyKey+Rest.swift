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
    .duration("gate.settle", "the wait after a change of network", { $1(&$0.gate.settle) }),
    .word("gate.networkChange", "what a change of network does", { $1(&$0.gate.networkChange) }),
    PolicyKey(
      name: "gate.background",
      meaning: "what background does (stay, or AFTER then hold|standby|idle such as 5s standby)"
    ) {
      switch $0.gate.background {
      case .stay: "stay"
      case .leave(let after, let then): "\(after.text) \(then.rawValue)"
      }
    } write: { draft, text in
      let words = text.split(separator: " ")
      if text == "stay" {
        draft.gate.background = .stay
        return true
      }
      guard words.count == 2, let after = Duration(text: words[0]),
        let then = BackgroundRule.AfterLeaving(rawValue: String(words[1]))
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
    .word("establish.milestone", "what counts as connected", { $1(&$0.establish.milestone) }),
    // Where the milestone is the open transport both times are one number to a reader.
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
    // Behind the key that moves it, so that a policy written in this order is read as it was.
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
      let words = text.split(separator: " ")
      guard words.count == 2, let after = Duration(text: words[0]),
        let then = IdleRule.Then(rawValue: String(words[1]))
      else { return false }
      draft.liveness.idle = IdleRule(after: after, then: then)
      return true
    },
  ]

  static let standbyKeys: [PolicyKey] = [
    poll("standby.interval", "the wait between polls", { $1(&$0.interval) }),
    PolicyKey(name: "standby.jitter", meaning: "the share by which polls spread (0 to 0.5)") {
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
      "standby.slowProbe", "the same, where the server does not offer it", { $1(&$0.slowProbe) }),
    queue("standby.rearm", "the wait before the queued connect is armed again", { $1(&$0.rearm) }),
    queue(
      "standby.fastFailure", "what ends sooner than this after it was armed has failed fast",
      { $1(&$0.fastFailure) }),
    queue(
      "standby.floor", "the least time between two of its beginnings after a fast failure",
      { $1(&$0.floor) }),
    queue(
      "standby.background", "the most that this is while the app is in background",
      { $1(&$0.background) }),
    queue(
      "standby.rest", "how long it waits with the system after an idle link was closed",
      { $1(&$0.rest) }),
  ]

  private static func queue(
    _ name: String, _ meaning: String, _ place: @escaping Place<QueuePolicy, Duration>
  ) -> PolicyKey {
    PolicyKey(
      name: name, meaning: meaning + " (a duration such as 1s)", range: Duration.written.text
    ) {
      guard case .queuedConnect(let queue) = $0.standby else { return nil }
      return read(queue, place).text
    } write: { draft, text in
      guard case .queuedConnect(var queue) = draft.standby, let value = Duration(text: text) else {
        return false
      }
      write(value, to: &queue, place)
      draft.standby = .queuedConnect(queue)
      return true
    }
  }

  private static func poll(
    _ name: String, _ meaning: String, _ place: @escaping Place<PollPolicy, Duration>
  ) -> PolicyKey {
    PolicyKey(
      name: name, meaning: meaning + " (a duration such as 30s)", range: Duration.written.text
    ) {
      guard case .poll(let poll) = $0.standby else { return nil }
      return read(poll, place).text
    } write: { draft, text in
      guard case .poll(var poll) = draft.standby, let value = Duration(text: text) else {
        return false
      }
      write(value, to: &poll, place)
      draft.standby = .poll(poll)
      return true
    }
  }
}
