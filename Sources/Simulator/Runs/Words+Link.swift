import LinkCore

// What every link is told and asks for, in words.
extension Words {
  /// What happened to a model, as far as its role says.
  static func cause<Model: SimulatedModel>(_ input: Model.Input, of model: Model.Type) -> StoryPart
  {
    if let event = Model.event(of: input) { return cause(event) }
    return switch Model.role(of: input) {
    case .wanted: (.user, "wants the link")
    case .left: (.user, "wants the link no longer")
    case .lifecycle(let lifecycle): cause(.device(.lifecycle(lifecycle)))
    case .credentials(let event): (.phone, words(for: event))
    case .opened(let attempt): connection(attempt, "is open")
    case .lost(let attempt, let failure): cause(.lost(attempt, failure))
    case .changed, .trigger, .data, .draining, .heard, .answered, .refused, .other:
      (.app, "is told: \(input)")
    }
  }

  /// An event of any link.
  static func cause(_ event: LinkEvent) -> StoryPart {
    switch event {
    case .device(.reachability(let way)): (.phone, "says: \(words(for: way))")
    case .device(.lifecycle(.foreground)): (.phone, "says: the app is in front")
    case .device(.lifecycle(.background)): (.phone, "says: the app is in background")
    case .device(.woke): (.phone, "says: it was asleep")
    case .device(.again): (.user, "wants another try")
    case .ping(let attempt): connection(attempt, "brings a ping")
    case .pong(let attempt, _): connection(attempt, "brings a pong")
    case .oversized(let attempt, let bytes): connection(attempt, "brings \(bytes) bytes: too many")
    case .lost(let attempt, let cause): connection(attempt, "ends with \(failure(cause))")
    }
  }

  /// What a model asks for, as far as its role says; `nil` for what a short story leaves out.
  static func effect<Model: SimulatedModel>(
    _ effect: Model.Effect, of model: Model.Type, isVerbose: Bool
  ) -> StoryPart? {
    switch Model.role(of: effect) {
    case .open(let attempt): (.app, "connects, as connection \(attempt.number)")
    case .close(let attempt): (.app, "closes connection \(attempt.number)")
    case .ping(let attempt): isVerbose ? (.app, "pings on connection \(attempt.number)") : nil
    case .refreshCredentials: (.app, "asks for a new token")
    case .notice, .signIn: (.screen, "notice: \(effect)")
    case .request, .store, .other: isVerbose ? (.app, "asks for \(effect)") : nil
    }
  }

  /// Where a link stands.
  static func status(_ status: LinkStatus) -> String {
    var words = status.phase.rawValue
    if status.attempt > 0 { words += " try \(status.attempt)" }
    return words + (status.reason.map { ": \(reason($0))" } ?? "")
  }
}
