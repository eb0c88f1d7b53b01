package import HoldfastCore

/// Functions that format the texts of traces.
package enum TraceText {
  /// Formats a time as `0:12:03.250`.
  package static func clock(_ time: Duration) -> String {
    let total = time.nanoseconds / 1_000_000
    let (seconds, thousandths) = total.quotientAndRemainder(dividingBy: 1000)
    let rest = [
      padded(seconds / 60 % 60, to: 2),
      padded(seconds % 60, to: 2) + "." + padded(thousandths, to: 3),
    ]
    return "\(seconds / 3600):" + rest.joined(separator: ":")
  }

  private static func padded(_ number: Int64, to width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  /// Formats a duration as `250 ms`, `12.3 s`, `5 min 3 s` or `2 h 5 min`. It is truncated, not
  /// rounded.
  package static func length(_ time: Duration) -> String {
    let thousandths = time.nanoseconds / 1_000_000
    let seconds = thousandths / 1000
    switch seconds {
    case ..<0: return "-" + length(.zero - time)
    case 0: return "\(thousandths) ms"
    case ..<60:
      let tenths = thousandths / 100 % 10
      return tenths == 0 ? "\(seconds) s" : "\(seconds).\(tenths) s"
    case ..<3600: return "\(seconds / 60) min" + (seconds % 60 == 0 ? "" : " \(seconds % 60) s")
    case _:
      let minutes = seconds / 60 % 60
      return "\(seconds / 3600) h" + (minutes == 0 ? "" : " \(minutes) min")
    }
  }

  /// Formats a count as `1 message` or `3 messages`.
  package static func count(_ number: Int, _ noun: String) -> String {
    number == 1 ? "1 \(noun)" : "\(number) \(noun)s"
  }

  package static func quoted(_ text: String) -> String {
    text.count > 30 ? "“\(text.prefix(30))…”" : "“\(text)”"
  }

  package static func reason(_ reason: LinkStatus.Reason) -> String {
    switch reason {
    case .blocked(.unreachable): "there is no network"
    case .blocked(.captivePortal): "a login page is in the way"
    case .blocked(.background): "the app is in the background"
    case .failure(let failure): TraceText.failure(failure)
    case .exhausted(let failure):
      "all tries failed, the last one with \(TraceText.failure(failure))"
    case .signIn: "the user must sign in"
    case .ended(let cause): "ended (\(cause.rawValue))"
    case .debouncing: "the network is being debounced"
    case .limited: "the maximum number of attempts was made"
    }
  }

  package static func failure(_ failure: LinkFailure) -> String {
    switch failure {
    case .unreachable: "no route"
    case .dns: "an unknown name"
    case .refused: "a refused connection"
    case .timeout(let phase): "a time-out (\(phase.rawValue))"
    case .tls: "a failure of TLS"
    case .reset: "a reset"
    case .ended: "an end without a close frame"
    case .closed(let code, _): "close code \(code)"
    case .http(let status, let retryAfter, _):
      "status \(status)" + (retryAfter.map { ", wait \(length($0))" } ?? "")
    case .protocolError: "a breach of the protocol"
    case .proxy: "a failing proxy"
    case .captivePortal: "a login page"
    case .local: "a failure of the device"
    }
  }

  /// Describes an event on a connection.
  package static func connection(_ attempt: AttemptID, _ what: String) -> TracePart {
    (.network, "connection \(attempt.number) \(what)")
  }

  /// Describes the network that the device reports.
  package static func describe(_ way: Reachability) -> String {
    switch way {
    case .unreachable: "no network"
    case .reachable(let path, _): "a network over \(path.name)"
    case .captivePortal: "a login page is in the way"
    }
  }

  /// Describes a change of credentials.
  package static func describe(_ event: HeldLink.CredentialsEvent) -> String {
    switch event {
    case .available(let life): "has a token" + (life.map { " for \(length($0))" } ?? "")
    case .refreshFailed: "got no new token this time"
    case .rejected: "gets no token any more: the user must sign in"
    case .cleared: "has no token any more: signed out"
    }
  }
}

// Descriptions of the inputs and effects that every link has.
extension TraceText {
  /// Describes an input of a model in as much detail as its role provides.
  package static func cause<Model: CheckedModel>(_ input: Model.Input, of model: Model.Type)
    -> TracePart
  {
    if let event = Model.event(of: input) { return cause(event) }
    return switch Model.role(of: input) {
    case .wanted: (.user, "wants the link")
    case .left: (.user, "no longer wants the link")
    case .lifecycle(let lifecycle): cause(.device(.lifecycle(lifecycle)))
    case .credentials(let event): (.phone, describe(event))
    case .opened(let attempt): connection(attempt, "is open")
    case .lost(let attempt, let failure): cause(.lost(attempt, failure))
    case .changed, .trigger, .data, .draining, .received, .answered, .refused, .other:
      (.app, "receives: \(input)")
    }
  }

  /// Describes an event that any link can receive.
  package static func cause(_ event: LinkEvent) -> TracePart {
    switch event {
    case .device(.reachability(let way)): (.phone, "says: \(describe(way))")
    case .device(.lifecycle(.foreground)): (.phone, "says: the app is in the foreground")
    case .device(.lifecycle(.background)): (.phone, "says: the app is in the background")
    case .device(.woke): (.phone, "says: it was asleep")
    case .device(.again): (.user, "wants another try")
    case .ping(let attempt): connection(attempt, "brings a ping")
    case .pong(let attempt, _): connection(attempt, "brings a pong")
    case .oversized(let attempt, let bytes): connection(attempt, "brings \(bytes) bytes: too many")
    case .lost(let attempt, let cause): connection(attempt, "ends with \(failure(cause))")
    }
  }

  /// Describes an effect of a model in as much detail as its role provides. Returns `nil` if a
  /// short trace omits it.
  package static func effect<Model: CheckedModel>(
    _ effect: Model.Effect, of model: Model.Type, isVerbose: Bool
  ) -> TracePart? {
    switch Model.role(of: effect) {
    case .open(let attempt): (.app, "connects, as connection \(attempt.number)")
    case .close(let attempt, let reason):
      (.app, "closes connection \(attempt.number): \(reason)")
    case .ping(let attempt): isVerbose ? (.app, "pings on connection \(attempt.number)") : nil
    case .refreshCredentials: (.app, "asks for a new token")
    case .notice, .signIn: (.screen, "notice: \(effect)")
    case .request, .store, .other: isVerbose ? (.app, "asks for \(effect)") : nil
    }
  }

  /// Describes the status of a link.
  package static func status(_ status: LinkStatus) -> String {
    var label = status.phase.rawValue
    if status.attempt > 0 { label += " try \(status.attempt)" }
    return label + (status.reason.map { ": \(reason($0))" } ?? "")
  }
}
